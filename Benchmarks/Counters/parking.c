// Preloaded under valgrind 3.19, which ends a program whose main thread waits in sigsuspend(2), as dispatch_main(3) does.
#include <signal.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    (void)mask;
    for (;;) {
        pause();
    }
}
