// The raw echo by Boost.Beast: `beast_echo PORT W7|W8`.
#include "measure.hpp"
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <functional>

namespace net = boost::asio;
namespace beast = boost::beast;

int main(int count, char **arguments) {
    if (count < 3) return 1;
    Workload work(arguments[2]);
    net::io_context context;
    beast::websocket::stream<net::ip::tcp::socket> stream(context);
    stream.next_layer().connect({net::ip::address_v4::loopback(), static_cast<unsigned short>(std::atoi(arguments[1]))});
    stream.next_layer().set_option(net::ip::tcp::no_delay(true));
    stream.handshake("127.0.0.1", "/raw");
    stream.binary(true);
    stream.auto_fragment(false);
    stream.read_message_max(1 << 24);
    beast::flat_buffer buffer;
    bool isWarm = false, isWriting = false;
    long due = 0;
    // The library takes one write at a time.
    std::function<void()> write = [&] {
        if (isWriting || due == 0) return;
        isWriting = true;
        due--;
        stream.async_write(net::buffer(work.payload), [&](beast::error_code error, size_t) {
            if (error) std::abort();
            isWriting = false;
            write();
        });
    };
    auto fill = [&] {
        for (long index = 0; index < work.width && work.maySend(); index++) due++;
        write();
    };
    std::function<void()> read = [&] {
        stream.async_read(buffer, [&](beast::error_code error, size_t size) {
            if (error) std::abort();
            buffer.consume(size);
            if (work.maySend()) {
                due++;
                write();
            }
            if (work.cameBack(size)) {
                if (isWarm) {
                    work.report();
                    std::exit(0);
                }
                isWarm = true;
                work.begin(work.count);
                fill();
            }
            read();
        });
    };
    work.begin(work.count / 20);
    fill();
    read();
    context.run();
    return 1;
}
