// What the texts beside it were made of; see make.sh. It prints one line, 463.
#include <cstdio>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))
#define BODY asm volatile("" ::: "memory")

namespace app {
struct Point { int x, y; };
struct Big { long a; int b; char c; };
enum Color { Red, Green, Blue };
KEPT int f(int a, const char *s, double d) { BODY; return a + (int)d + s[0]; }
KEPT int f(const std::string &s, Color c) { BODY; return (int)s.size() + c; }
// It looks at the text: what a function does nothing with is not shown.
KEPT long g(Point p, const Big &b, std::string_view v, short h) { BODY; return p.x + p.y + b.a + (long)v.size() + h + (v[0] == '\n'); }
KEPT double half(double d) { BODY; return d / 2; }
struct Shape {
    int k = 1;
    virtual ~Shape() {}
    virtual int area(int w, int h);
};
KEPT int Shape::area(int w, int h) { BODY; return w * h * k; }
}

KEPT int sum(int a, int b, int c, int d, int e, int f, int g, int h) { BODY; return a + b + c + d + e + f + g + h; }

int main()
{
    int r = 0;
    app::Shape shape;
    app::Big big{7, 8, 'x'};
    for (int i = 0; i < 3; i++) {
        r += app::f(i, "hello", 2.5);
        r += app::f(std::string("a longer text than sixteen"), app::Green);
        r += shape.area(3, i);
        r += (int)app::g({i, -2}, big, "view", -5);
        r += (int)app::half(i);
    }
    r += sum(1, 2, 3, 4, 5, 6, 7, 8);
    std::thread([] { app::f(-1, "a \"thread\" b=2", 0); }).join();
    if (pid_t child = fork()) {
        waitpid(child, nullptr, 0);
    } else {
        app::f(-2, "child", 0);
        _exit(0);
    }
    printf("%d\n", r);
}
