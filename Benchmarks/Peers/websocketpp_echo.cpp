// The raw echo by websocketpp: `websocketpp_echo PORT W7|W8`.
#include "measure.hpp"
#include <websocketpp/client.hpp>
#include <websocketpp/config/asio_no_tls_client.hpp>

// The library's own source of masks is a random device, whose system call for each frame would be most of the cost.
struct Masks : websocketpp::config::asio_client {
    struct rng_type {
        uint32_t state = 0x9E3779B9;
        uint32_t operator()() {
            state ^= state << 13;
            state ^= state >> 17;
            return state ^= state << 5;
        }
    };
};

using Client = websocketpp::client<Masks>;

int main(int count, char **arguments) {
    if (count < 3) return 1;
    Workload work(arguments[2]);
    Client client;
    client.clear_access_channels(websocketpp::log::alevel::all);
    client.clear_error_channels(websocketpp::log::elevel::all);
    client.init_asio();
    client.set_max_message_size(1 << 24);
    auto fill = [&](websocketpp::connection_hdl handle) {
        for (long index = 0; index < work.width && work.maySend(); index++)
            client.send(handle, work.payload, websocketpp::frame::opcode::binary);
    };
    bool isWarm = false;
    client.set_open_handler([&](websocketpp::connection_hdl handle) {
        work.begin(work.count / 20);
        fill(handle);
    });
    client.set_message_handler([&](websocketpp::connection_hdl handle, Client::message_ptr message) {
        if (work.maySend()) client.send(handle, work.payload, websocketpp::frame::opcode::binary);
        if (!work.cameBack(message->get_payload().size())) return;
        if (isWarm) {
            work.report();
            std::exit(0);
        }
        isWarm = true;
        work.begin(work.count);
        fill(handle);
    });
    websocketpp::lib::error_code error;
    auto connection = client.get_connection("ws://127.0.0.1:" + std::string(arguments[1]) + "/raw", error);
    if (error) return 1;
    client.connect(connection);
    client.run();
    return 1;
}
