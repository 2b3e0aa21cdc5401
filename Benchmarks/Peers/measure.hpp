// What the peers in C++ have in common: the workload, and a line in the form of the workloads.
#pragma once
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>

struct Workload {
    std::string name;
    std::string payload;
    long count, width;
    long wanted = 0, sent = 0, received = 0;
    double start = 0, used = 0;

    explicit Workload(const std::string &name) : name(name) {
        bool isLarge = name == "W8";
        payload.assign(isLarge ? 1 << 20 : 64, 7);
        count = isLarge ? 500 : 500000;
        width = isLarge ? 1 : 64;
    }

    static double cpu() {
        rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    }

    static double now() {
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }

    /// Begins a part: the warm-up, or what is measured.
    void begin(long messages) {
        wanted = messages;
        sent = received = 0;
        start = now();
        used = cpu();
    }

    bool maySend() { return sent < wanted ? (sent++, true) : false; }

    /// A message has come back; true when it was the last.
    bool cameBack(size_t size) {
        if (size != payload.size()) std::abort();
        return ++received == wanted;
    }

    void report() {
        double elapsed = now() - start, spent = cpu() - used;
        std::printf("%-12s%14.0f%16.3f%16.3f\n", name.c_str(), wanted / elapsed * 1e6, spent / wanted, 0.0);
    }
};
