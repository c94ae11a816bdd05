/* bt.h: what the sample's program and its library share. */

#ifndef BT_H
#define BT_H

extern int printed;
void in_library(void (*back)(void));

#endif
