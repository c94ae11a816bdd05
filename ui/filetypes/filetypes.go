// Package filetypes lets Windows open logs with LogParser by a double click, for the user alone, and takes that back.
// It steals no type: one that another program opens stays so, and LogParser is offered beside it. On Linux "make install"
// does this, and there is nothing to do here.
package filetypes
