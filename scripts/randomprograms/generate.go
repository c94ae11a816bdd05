package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A program is a generated one: its text, and that of the library that it loads.
type program struct {
	seed         uint64
	text, plugin string
	hazards      []string // what it does, in order
}

// A generator writes one program. Its steps are functions that call each other down to a hazard, which may have
// another step inside.
type generator struct {
	*rand.Rand
	functions strings.Builder // of the program, each before its callers
	hazards   []string
	count     int
	modes     []int // steps that the program runs when it is started anew: exec
}

// without are the hazards and wrappers that programs do not have.
var without []string

// generate returns the program of a seed.
func generate(seed uint64) program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 20))}
	var wrappers, calls strings.Builder
	for _, w := range allWrappers {
		if g.IntN(4) == 0 && !slices.Contains(without, w.name) {
			g.hazards = append(g.hazards, "own "+w.name)
			wrappers.WriteString(w.text)
		}
	}
	for range 2 + g.IntN(4) {
		fmt.Fprintf(&calls, "  s%d();\n  say(\"step\");\n", g.step(0))
	}
	end := ends[g.IntN(len(ends))]
	g.hazards = append(g.hazards, "end by "+strings.TrimSuffix(end, ";"))
	modes := ""
	for _, m := range g.modes {
		modes += fmt.Sprintf("  if (argc > 1 && atoi(argv[1]) == %d) { s%d(); say(\"executed %d\"); return %d; }\n", m, m, m, m%100)
	}
	text := head + wrappers.String() + g.functions.String() +
		"int main(int argc, char **argv) {\n  self = argv[0];\n" + modes + "  atexit(last);\n" + calls.String() + "  seen();\n  " + end + "\n  return 0;\n}\n"
	return program{seed, text, plugin, g.hazards}
}

var ends = []string{"", "", "exit(5);", "_exit(6);", "quick_exit(7);", "abort();", "raise(SIGKILL);", "*(volatile int *)8 = 1;", "raise(SIGTERM);", "pthread_exit(0);", "syscall(SYS_exit_group, 9);"}

// step writes functions that lead to a hazard, and returns the number of the outermost.
func (g *generator) step(depth int) int {
	body := g.hazard(depth)
	for range g.IntN(3) {
		inner := g.function(body)
		body = fmt.Sprintf("work(%d); s%d(); work(%d);", g.IntN(5), inner, g.IntN(5))
	}
	return g.function(body)
}

func (g *generator) function(body string) int {
	g.count++
	fmt.Fprintf(&g.functions, "static NOINLINE void s%d(void) {\n  %s\n}\n", g.count, body)
	return g.count
}

// inner is a statement of a hazard: another step, or a few calls.
func (g *generator) inner(depth int) string {
	if depth < 2 && g.IntN(2) == 0 {
		return fmt.Sprintf("s%d();", g.step(depth+1))
	}
	return fmt.Sprintf("work(%d);", 1+g.IntN(8))
}

func (g *generator) hazard(depth int) string {
	h := hazards[g.IntN(len(hazards))]
	if slices.Contains(without, h.name) {
		h = hazards[0]
	}
	g.hazards = append(g.hazards, h.name)
	return h.write(g, depth)
}

// childEnd is how a child ends.
func (g *generator) childEnd() string {
	all := []string{"_exit(3);", "exit(4);", "abort();", "raise(SIGKILL);", "*(volatile int *)8 = 1;", "quick_exit(5);"}
	if g.IntN(4) == 0 {
		return fmt.Sprintf("execl(\"/proc/self/exe\", self, \"%d\", (char *)0); _exit(99);", g.mode())
	}
	return all[g.IntN(len(all))]
}

// mode makes a step that a program runs when it is started anew.
func (g *generator) mode() int {
	m := g.function(fmt.Sprintf("work(%d); seen();", g.IntN(6)))
	g.modes = append(g.modes, m)
	return m
}

// A hazard is something that programs do, written as statements.
type hazard struct {
	name  string
	write func(g *generator, depth int) string
}

func (g *generator) name(prefix string) string {
	g.count++
	return fmt.Sprintf("%s%d", prefix, g.count)
}

// static writes a function of a hazard and returns its name.
func (g *generator) static(result, arguments, body string) string {
	name := g.name("f")
	fmt.Fprintf(&g.functions, "static NOINLINE %s %s(%s) {\n  %s\n}\n", result, name, arguments, body)
	return name
}

// hazards is made when it is used: hazards have steps inside, which have hazards.
var hazards []hazard

func init() { hazards = allHazards }

// semaphore makes one of a hazard's own: a hazard may be inside another one, in another thread.
func (g *generator) semaphore() string {
	name := g.name("ready")
	fmt.Fprintf(&g.functions, "static sem_t %s;\n", name)
	return name
}

var allHazards = []hazard{
	{"calls", func(g *generator, _ int) string { return fmt.Sprintf("work(%d);", 10+g.IntN(60)) }},
	{"fork", func(g *generator, depth int) string {
		child := g.inner(depth) + " seen(); " + g.childEnd()
		return "{ pid_t p = fork(); if (p == 0) { " + child + " } " + g.inner(depth) + " ended(p); }"
	}},
	{"daemon", func(g *generator, depth int) string {
		middle := []string{"", "", "work(2);"}[g.IntN(3)]
		return "{ int pipes[2]; if (pipe(pipes)) abort(); pid_t p = fork(); if (p == 0) { setsid(); " + middle +
			" if (fork() == 0) { " + g.inner(depth) + " say(\"grandchild\"); _exit(0); } _exit(1); } close(pipes[1]); char c; while (read(pipes[0], &c, 1) > 0); close(pipes[0]); ended(p); }"
	}},
	{"vfork", func(g *generator, _ int) string {
		if g.IntN(2) == 0 {
			return "{ pid_t p = vfork(); if (p == 0) { async_child(3); _exit(4); } ended(p); work(2); }"
		}
		return fmt.Sprintf("{ pid_t p = vfork(); if (p == 0) { execl(\"/proc/self/exe\", self, \"%d\", (char *)0); _exit(99); } ended(p); work(2); }", g.mode())
	}},
	{"spawn", func(g *generator, _ int) string {
		return fmt.Sprintf("{ pid_t p; char *a[] = {self, \"%d\", 0}, *own[] = {\"A=1\", 0}; if (posix_spawn(&p, \"/proc/self/exe\", 0, 0, a, %s)) abort(); ended(p); }", g.mode(), []string{"environ", "own"}[g.IntN(2)])
	}},
	{"thread", func(g *generator, depth int) string {
		f := g.static("void *", "void *p", g.inner(depth)+" return p;")
		return "{ pthread_t t; void *r = 0; pthread_create(&t, 0, " + f + ", (void *)5L); pthread_join(t, &r); number(\"joined\", (long)r); }"
	}},
	{"threads", func(g *generator, _ int) string {
		f := g.static("void *", "void *p", "work((int)(long)p); return p;")
		n := 2 + g.IntN(6)
		return fmt.Sprintf("{ pthread_t t[%d]; void *r; for (long i = 0; i < %d; i++) pthread_create(&t[i], 0, %s, (void *)(10 + i)); work(3); for (int i = 0; i < %d; i++) { pthread_join(t[i], &r); number(\"joined\", (long)r); } }", n, n, f, n)
	}},
	{"cancel", func(g *generator, depth int) string {
		ready := g.semaphore()
		f := g.static("void *", "void *p", g.inner(depth)+" sem_post(&"+ready+"); for (;;) pause(); return p;")
		return "{ sem_init(&" + ready + ", 0, 0); pthread_t t; void *r = 0; pthread_create(&t, 0, " + f + ", 0); while (sem_wait(&" + ready + ")) {} pthread_cancel(t); pthread_join(t, &r); say(r == PTHREAD_CANCELED ? \"cancelled\" : \"not cancelled\"); }"
	}},
	{"cancel at any time", func(g *generator, _ int) string {
		ready := g.semaphore()
		f := g.static("void *", "void *p", "pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0); sem_post(&"+ready+"); for (;;) async_work(100); return p;")
		return fmt.Sprintf("{ sem_init(&%s, 0, 0); pthread_t t; void *r = 0; pthread_create(&t, 0, %s, 0); while (sem_wait(&%s)) {} usleep(%d); pthread_cancel(t); pthread_join(t, &r); say(r == PTHREAD_CANCELED ? \"cancelled\" : \"not cancelled\"); work(2); }", ready, f, ready, g.IntN(3000))
	}},
	{"signal", func(g *generator, _ int) string {
		f := g.static("void", "int n", fmt.Sprintf("(void)n; work(%d);", 1+g.IntN(4)))
		flags := []string{"0", "SA_NODEFER", "SA_RESETHAND", "SA_ONSTACK", "SA_RESTART"}[g.IntN(5)]
		signal := []string{"SIGUSR1", "SIGUSR2", "SIGHUP", "SIGSEGV", "SIGBUS", "SIGRTMIN + 3", "SIGABRT"}[g.IntN(7)]
		mask := []string{"", "sigfillset(&a.sa_mask);"}[g.IntN(2)]
		raise := "raise(" + signal + ");"
		if g.IntN(2) == 0 {
			raise = "{ sigset_t m, o; sigemptyset(&m); sigaddset(&m, " + signal + "); pthread_sigmask(SIG_BLOCK, &m, &o); raise(" + signal + "); work(2); pthread_sigmask(SIG_SETMASK, &o, 0); }"
		}
		return "{ struct sigaction a, was, now; memset(&a, 0, sizeof a); a.sa_handler = " + f + "; a.sa_flags = " + flags + "; " + mask + " sigaction(" + signal + ", &a, &was); " + raise +
			" sigaction(" + signal + ", &was, &now); say(now.sa_handler == " + f + " ? \"handler\" : now.sa_handler == SIG_DFL ? \"default\" : \"other\"); masks(); }"
	}},
	{"jump out of a handler", func(g *generator, _ int) string {
		b := g.name("buffer")
		fmt.Fprintf(&g.functions, "static sigjmp_buf %s;\n", b)
		f := g.static("void", "int n", "(void)n; work(2); siglongjmp("+b+", 1);")
		return "{ struct sigaction a, was; memset(&a, 0, sizeof a); a.sa_handler = " + f + "; sigaction(SIGUSR1, &a, &was); if (!sigsetjmp(" + b + ", 1)) { work(1); raise(SIGUSR1); say(\"never\"); } work(2); sigaction(SIGUSR1, &was, 0); masks(); }"
	}},
	{"longjmp", func(g *generator, depth int) string {
		b := g.name("buffer")
		fmt.Fprintf(&g.functions, "static jmp_buf %s;\n", b)
		f := g.static("void", "int n", fmt.Sprintf("work(1); if (n > %d) longjmp(%s, 1);", g.IntN(3), b))
		h := g.static("void", "int n", f+"(n); work(1);")
		return "{ volatile int n = 0; if (setjmp(" + b + ")) n = -5; " + g.inner(depth) + " " + h + "(n + 2); " + h + "(n + 4 > 0 ? 0 : n); work(3); }"
	}},
	{"timer", func(g *generator, depth int) string {
		return "{ struct sigaction a, was; memset(&a, 0, sizeof a); a.sa_handler = async_tick; a.sa_flags = SA_RESTART; sigaction(SIGALRM, &a, &was); struct itimerval v = {{0, 300}, {0, 300}}, none = {{0, 0}, {0, 0}}; setitimer(ITIMER_REAL, &v, 0); work(200); " +
			" setitimer(ITIMER_REAL, &none, 0); sigaction(SIGALRM, &was, 0); masks(); }"
	}},
	{"dlopen", func(g *generator, _ int) string {
		n := 1 + g.IntN(3)
		return fmt.Sprintf("for (int i = 0; i < %d; i++) { void *h = dlopen(plugin_path(), RTLD_NOW); if (!h) abort(); int (*f)(int) = (int (*)(int))dlsym(h, \"plugin\"); number(\"plugin\", f(i)); dlclose(h); work(1); }", n)
	}},
	{"descriptors", func(g *generator, _ int) string {
		return fmt.Sprintf("{ int kept = dup(%d); seen(); close(%d); seen(); work(2); if (kept >= 0) { dup2(kept, %d); close(kept); } seen(); }", g.IntN(3), g.IntN(3), g.IntN(3))
	}},
	{"all descriptors closed", func(g *generator, _ int) string {
		return "{ for (int fd = 3; fd < 1100; fd++) close(fd); work(40); seen(); }"
	}},
	{"few descriptors", func(g *generator, _ int) string {
		return fmt.Sprintf("{ struct rlimit l; getrlimit(RLIMIT_NOFILE, &l); l.rlim_cur = %d; setrlimit(RLIMIT_NOFILE, &l); work(3); seen(); }", 10+g.IntN(40))
	}},
	{"little address space", func(g *generator, _ int) string {
		return fmt.Sprintf("{ struct rlimit l; getrlimit(RLIMIT_AS, &l); l.rlim_cur = used() + %d; setrlimit(RLIMIT_AS, &l); work(5); char *p = malloc(%d); say(p ? \"memory\" : \"no memory\"); free(p); work(20); }", (100+g.IntN(100))<<20, (5+g.IntN(10))<<20)
	}},
	{"coroutine", func(g *generator, _ int) string {
		c := g.name("context")
		fmt.Fprintf(&g.functions, "static ucontext_t %s, %sback;\n", c, c)
		f := g.static("void", "void", fmt.Sprintf("work(2); swapcontext(&%s, &%sback); work(3);", c, c))
		return fmt.Sprintf("{ getcontext(&%s); %s.uc_stack.ss_sp = malloc(65536); %s.uc_stack.ss_size = 65536; %s.uc_link = &%sback; makecontext(&%s, %s, 0); swapcontext(&%sback, &%s); work(2); swapcontext(&%sback, &%s); work(1); }", c, c, c, c, c, c, f, c, c, c, c)
	}},
	{"signal stack", func(g *generator, _ int) string {
		f := g.static("void", "int n", "(void)n; work(3);")
		return "{ static char memory[65536]; stack_t s = {.ss_sp = memory, .ss_size = sizeof memory}, was, now; sigaltstack(&s, &was); struct sigaction a, old; memset(&a, 0, sizeof a); a.sa_handler = " + f +
			"; a.sa_flags = SA_ONSTACK; sigaction(SIGUSR2, &a, &old); raise(SIGUSR2); sigaction(SIGUSR2, &old, 0); was.ss_size = sizeof memory; sigaltstack(&was, &now); say(now.ss_sp == memory ? \"own stack\" : \"other stack\"); }"
	}},
	{"folder and environment", func(g *generator, _ int) string {
		return "{ char here[4096]; if (!getcwd(here, sizeof here)) abort(); if (chdir(\"/\")) abort(); work(3); if (chdir(here)) abort(); setenv(\"X\", \"1\", 1); work(2); }"
	}},
	{"exec that fails", func(g *generator, _ int) string {
		return "{ work(1); execl(\"/nowhere\", \"nowhere\", (char *)0); number(\"exec\", errno); work(4); }"
	}},
	{"ignored children", func(g *generator, _ int) string {
		return "{ signal(SIGCHLD, SIG_IGN); pid_t p = fork(); if (p == 0) { work(2); _exit(1); } number(\"gone\", waitpid(p, 0, 0)); signal(SIGCHLD, SIG_DFL); work(1); }"
	}},
}
