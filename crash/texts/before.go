package texts

import "strings"

// What stands before a number in free text says what it is: an instruction, an address that something returns to, or none of
// code at all.

// pcWords are names of the program counter, and of what happened at an instruction.
var pcWords = wordSet("rip eip pc ip nip epc fault crash crashed faulted")

// placeWords stand between a word for what happened and the address of the instruction.
var placeWords = wordSet("at address addr location instruction offset code")

// eventWords are for what happens at an instruction.
var eventWords = wordSet("exception exceptions crash crashed crashes fault faults faulted faulting segfault violation trap signal abort aborted")

// dataWords are names of what holds values, not places in code: registers, and what Go tells of a thread.
var dataWords = wordSet("rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 eax ebx ecx edx esi edi ebp esp rflags eflags eflg cs ds es fs gs ss " +
	"cr2 sp fp bp x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 gp mp")

func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// wordsBefore bounds the words that are looked at before a number.
const wordsBefore = 8

// lastWords returns the last words of a text in lower case, the last first. Words of a name are words of their own:
// ExceptionAddress. They end where a sentence does; numbers between are passed over.
func lastWords(text string) []string {
	list := make([]string, 0, wordsBefore)
	end := len(text)
	for end > 0 && len(list) < wordsBefore {
		switch b := text[end-1]; {
		case isLetter(b):
			begin := end - 1
			for begin > 0 && (isLetter(text[begin-1]) || text[begin-1] >= '0' && text[begin-1] <= '9') && end-begin < 24 &&
				!(isUpper(text[begin]) && !isUpper(text[begin-1])) {
				begin--
			}
			list = append(list, strings.ToLower(text[begin:end]))
			end = begin
		case b >= '0' && b <= '9':
			// Part of a word such as r11, or a number.
			begin := end - 1
			for begin > 0 && isWord(text[begin-1]) && end-begin < 24 {
				begin--
			}
			if isLetter(text[begin]) {
				list = append(list, strings.ToLower(text[begin:end]))
			} else if len(list) == 0 {
				return list
			}
			end = begin
		case strings.IndexByte(" \t:=(@-_'\"", b) >= 0:
			end--
		default:
			return list
		}
	}
	return list
}

func isUpper(b byte) bool  { return b >= 'A' && b <= 'Z' }
func isLetter(b byte) bool { return isUpper(b) || b >= 'a' && b <= 'z' }

// saysProgramCounter reports whether a text ends in words for the address of an instruction: "rip = ", "PC: @ ", "Unhandled
// exception at ", "ExceptionAddress: ", "in 64-bit code (".
func saysProgramCounter(before string) bool {
	words := lastWords(before)
	if len(words) == 0 {
		return false
	}
	if pcWords[words[0]] {
		return true
	}
	if !placeWords[words[0]] {
		return false
	}
	if words[0] == "code" && strings.HasSuffix(before, "bit code (") {
		return true // as Wine tells it, whose sentence before has numbers
	}
	for _, w := range words[1:] {
		if eventWords[w] {
			return true
		}
	}
	return false
}

// saysData reports whether a text ends in a word for what is no place in code, or in " in MODULE (", behind which Wine has the
// frame's place in the stack.
func saysData(before string) bool {
	if t, ok := strings.CutSuffix(before, " ("); ok {
		if i := strings.LastIndexByte(t, ' '); i > 0 && strings.HasSuffix(t[:i], " in") {
			return true
		}
	}
	words := lastWords(before)
	return len(words) > 0 && dataWords[words[0]]
}

// saysFirstFrame reports whether a text ends in the sign that Wine has before the first frame of a stack: "=>0 ".
func saysFirstFrame(before string) bool { return strings.HasSuffix(before, "=>0 ") }

// isGoCall reports whether a line is a call in a stack that Go prints, with arguments, whose numbers are none of places:
//
//	main.(*T).inner({0x4d03b0?, 0x8?}, ...)
//
// A line about a goroutine has addresses of data, too.
func isGoCall(line string) bool {
	if strings.HasPrefix(line, "goroutine ") {
		return true
	}
	name, ok := strings.CutSuffix(strings.TrimRight(line, "\r"), ")")
	open := strings.LastIndexByte(name, '(')
	if !ok || open <= 0 {
		return false
	}
	if strings.Trim(name[open+1:], "0123456789abcdefx{}?,._ ") != "" {
		return false
	}
	arguments, name := name[open+1:], name[:open]
	if i := strings.LastIndexByte(name, '.'); !strings.ContainsAny(arguments, "?,{. ") && fileEndings[name[i+1:]] {
		return false // a file and an address
	}
	return strings.Contains(name, ".") && !strings.ContainsAny(name, " \t:") && (isLetter(name[0]) || name[0] == '_')
}

var fileEndings = wordSet("so dll exe out dylib bin elf o")
