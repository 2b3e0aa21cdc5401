extension Transcript {
    /// Conversations between the official server 4.8.3 and the official client 4.8.3.
    static let official: [Transcript] = [
        Transcript(
            "Handshake and connect, websocket only: Official client, websocket only, with all HTTP headers",
            #"""
            S 0{"sid":"oSmSF_TxdNdZ075eAABD","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"R8fpodcD5zJHpA_tAAA6"}
            C 41
            """#),
        Transcript(
            "Namespaces with auth: '/' then '/auth' with an auth payload",
            #"""
            S 0{"sid":"TewEu3axl39mStUZAAAD","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"1lvwfe717BNqnARAAAAD"}
            C 40/auth,{"token":"secret","user":{"id":7}}
            S 40/auth,{"sid":"Agrf8uo-VrmsjH8TAAAE"}
            C 42/auth,0["echo","in nsp"]
            S 43/auth,0["in nsp"]
            C 41/auth,
            C 41
            """#),
        Transcript(
            "Namespaces with auth: Only '/chat' (no '/' CONNECT is needed)",
            #"""
            S 0{"sid":"HJ2cS1xxyB8yId_SAAAE","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40/chat,{"token":"t"}
            S 40/chat,{"sid":"pzjJNjBsN4AiSVGJAAAF"}
            C 41/chat,
            """#),
        Transcript(
            "Namespaces with auth: Two namespaces on one connection, one left",
            #"""
            S 0{"sid":"qE_hT2aqxSHcWWRYAAA-","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40/a,
            S 40/a,{"sid":"IIrWQDWuMqeRqxd5AAA0"}
            C 40/b,
            S 40/b,{"sid":"ydJ-RgQXmrKItgynAAA1"}
            C 41/a,
            C 42/b,0["echo","b alive"]
            S 43/b,0["b alive"]
            C 41/b,
            """#),
        Transcript(
            "Namespaces with auth: CONNECT answered after 1.5 s; an event emitted before is held back by the client",
            #"""
            S 0{"sid":"4tmJZ1H9Dq5GQ9kLAAA9","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40/slow,
            S 40/slow,{"sid":"ou1PNcDLuO3xnnX7AAAz"}
            C 42/slow,["echo-event","buffered before CONNECT answer"]
            S 42/slow,["echo-event","buffered before CONNECT answer"]
            C 41/slow,
            """#),
        Transcript(
            "Namespaces with auth: Events emitted by the JS server on connection: CONNECT first",
            #"""
            S 0{"sid":"97O-sLQm7PF6hryRAABB","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40/hello,
            S 40/hello,{"sid":"R9k5mFvTmGUk3jTgAAA4"}
            S 42/hello,["hello",{"nsp":"/hello"}]
            S 451-/hello,["hello2",1,{"_placeholder":true,"num":0}]
            s 01 02 03
            C 41/hello,
            """#),
        Transcript(
            "Namespaces with auth: Server disconnects at once",
            #"""
            S 0{"sid":"a-ZVnj7uBxZOb9pTAABC","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40/kick,
            S 40/kick,{"sid":"kXejFicbYuUcBnbTAAA5"}
            S 41/kick,
            """#),
        Transcript(
            "CONNECT_ERROR: Middleware error with data; unknown namespace, connection 1",
            #"""
            S 0{"sid":"YY5FB_WDPMwxUGP7AAAF","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40/auth,{"token":"bad"}
            S 44/auth,{"message":"unauthorized","data":{"code":401,"details":"bad token"}}
            """#),
        Transcript(
            "CONNECT_ERROR: Middleware error with data; unknown namespace, connection 2",
            #"""
            S 0{"sid":"W-LVt6uwPbNJiZnkAAAG","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40/nope,
            S 44/nope,{"message":"Invalid namespace"}
            """#),
        Transcript(
            "CONNECT_ERROR: Errors while another namespace stays connected",
            #"""
            S 0{"sid":"ugqcbhBaOGKGcy2dAAAH","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"9i6ULpZW7U1FFb-iAAAH"}
            C 40/reject,
            S 44/reject,{"message":"rejected"}
            C 40/nope,
            S 44/nope,{"message":"Invalid namespace"}
            C 41
            """#),
        Transcript(
            "Acks: Client ack, empty ack, several arguments, server-side ack request, ack never sent",
            #"""
            S 0{"sid":"QdJ0JM9qapzbbPtKAAAI","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"w2ItQBnK6u_UnQz6AAAJ"}
            C 420["echo",{"a":1}]
            S 430[{"a":1}]
            C 421["ack-empty"]
            C 422["ack-multi"]
            C 423["ask","q",41]
            C 424["ack-never"]
            S 431[]
            S 432[1,"two",{"three":3},[4],null]
            S 420["q",41]
            C 430[42,"z"]
            S 433[42,"z"]
            C 41
            """#),
        Transcript(
            "Acks: Same in a namespace",
            #"""
            S 0{"sid":"XECDZk29Wj9ZOlTwAAAJ","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40/chat,
            S 40/chat,{"sid":"OEu5Pls5qUXa-eCDAAAK"}
            C 42/chat,0["echo",{"a":1}]
            S 43/chat,0[{"a":1}]
            C 42/chat,1["ask","q",41]
            S 42/chat,0["q",41]
            C 43/chat,0[42]
            S 43/chat,1[42]
            C 41/chat,
            """#),
        Transcript(
            "Acks: Client options retries=2, ackTimeout=60 ms: new id per try",
            #"""
            S 0{"sid":"BONiByF-vgfNERl5AABA","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"5qb-Lxej1_lVLy4KAAA3"}
            C 420["echo",1]
            S 430[1]
            C 421["ack-never"]
            C 422["ack-never"]
            C 423["ack-never"]
            C 424["echo",3]
            S 434[3]
            C 41
            """#),
        Transcript(
            "Binary: Event with 2 attachments (one nested), and 2 attachments from the server",
            #"""
            S 0{"sid":"1bGDgUHJKEPhfad4AAAK","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"KiXlaJDBwBU8LjsvAAAL"}
            C 452-["echo-event","x",{"_placeholder":true,"num":0},{"nested":{"b":{"_placeholder":true,"num":1}}},"tail"]
            c 01 02 03
            c ff 00
            S 452-["echo-event","x",{"_placeholder":true,"num":0},{"nested":{"b":{"_placeholder":true,"num":1}}},"tail"]
            s 01 02 03
            s ff 00
            C 42["bin",2,4]
            S 452-["bin",{"n":2,"size":4},{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]
            s 00 1f 3e 5d
            s 01 20 3f 5e
            C 41
            """#),
        Transcript(
            "Binary: Binary acks in both directions",
            #"""
            S 0{"sid":"gH_6jC8E8_IY0-KJAAAL","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"L69pvKCla07aQKT8AAAM"}
            C 452-0["echo",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]
            c 09 08 07
            c 68 69
            C 421["ack-binary"]
            C 451-2["ask","qb",{"_placeholder":true,"num":0}]
            S 462-0[{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]
            s 09 08 07
            s 68 69
            c 01
            S 462-1[{"_placeholder":true,"num":0},{"b":{"_placeholder":true,"num":1}}]
            s 01 20 3f 5e 7d 9c bb da
            s 02 21 40 5f
            S 451-1["qb",{"_placeholder":true,"num":0}]
            s 01
            C 461-1[{"_placeholder":true,"num":0},{"ok":true}]
            c 04 05
            S 461-2[{"_placeholder":true,"num":0},{"ok":true}]
            s 04 05
            C 41
            """#),
        Transcript(
            "JSON values: Official server",
            #"""
            S 0{"sid":"-wGsFGLP5T7_FPLOAAA7","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"PUGkBPPRHywPGU1XAAAx"}
            C 420["types"]
            S 430[[null,true,false,0,-1,1.5,-0.001,1e+21,9007199254740991,-9007199254740991,"","plain","quote\"back\\slash/\n\t","\u0000\u001f‹007F›‹2028›‹2029›","Ä ß — てすと Я","😀👨‍👩‍👧‍👦🇨🇭",[],{},[[[]]],{"a":{"b":[1,{"c":null}]}},{"_placeholder":"no"},{"":"empty key","é":1}]]
            C 42["echo-event","é😀‹2028›",1.5,0,1e+21,9007199254740991,null,true,[],{},"1970-01-01T00:00:00.000Z"]
            S 42["echo-event","é😀‹2028›",1.5,0,1e+21,9007199254740991,null,true,[],{},"1970-01-01T00:00:00.000Z"]
            C 41
            """#),
        Transcript(
            "Ping/pong: Websocket, pingInterval 1000 pingTimeout 1000",
            #"""
            S 0{"sid":"7sVRpKkII_rCT7PoAAAA","upgrades":[],"pingInterval":1000,"pingTimeout":1000,"maxPayload":1000000}
            C 40
            S 40{"sid":"EMWHOKpNh2Bj5tH5AAAA"}
            S 2
            C 3
            S 2
            C 3
            S 2
            C 3
            C 41
            """#),
        Transcript(
            "Ping/pong: Server stops pinging: client closes after pingInterval+pingTimeout, reconnects, connection 1",
            #"""
            S 0{"sid":"dQC9fzw8GJmYSNf6AAA8","upgrades":[],"pingInterval":1000,"pingTimeout":1000,"maxPayload":1000000}
            C 40
            S 40{"sid":"pgPbKAnzWMt-Avf-AAA0"}
            C 420["echo",1]
            S 430[1]
            """#),
        Transcript(
            "Ping/pong: Server stops pinging: client closes after pingInterval+pingTimeout, reconnects, connection 2",
            #"""
            S 0{"sid":"2v3CE__YCGWtET1SAAA9","upgrades":[],"pingInterval":1000,"pingTimeout":1000,"maxPayload":1000000}
            C 40
            S 40{"sid":"1Y6sn7jtGyOjtrZ2AAA1"}
            C 41
            """#),
        Transcript(
            "Ping/pong: Client never answers: JS server closes (no code) pingTimeout after the ping",
            answersPings: false,
            #"""
            S 0{"sid":"ISKHx53J-SAMUWnXAAA-","upgrades":[],"pingInterval":1000,"pingTimeout":1000,"maxPayload":1000000}
            C 40
            S 40{"sid":"HNu9Z5QC93qbc5FHAAA2"}
            S 2
            """#),
        Transcript(
            "Server disconnect / close: Disconnect() of one namespace, then disconnect(true)",
            #"""
            S 0{"sid":"69g6MfayJ4LtjTZbAAAM","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"yLNich809R0qE52mAAAN"}
            C 40/chat,
            S 40/chat,{"sid":"jvSksGVEG3948CxMAAAO"}
            C 42["disconnect-me",false]
            S 41
            C 42/chat,["disconnect-me",true]
            S 41/chat,
            """#),
        Transcript(
            "Server disconnect / close: Engine closed by the JS server, websocket",
            #"""
            S 0{"sid":"f8og63Nur8SPrjiIAAAN","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"QogQ6lw4kOBnJlg3AAAP"}
            C 42["engine-close"]
            """#),
        Transcript(
            "Server disconnect / close: Client exceeds maxPayload (10 kB), websocket: 1009",
            #"""
            S 0{"sid":"NkQxiV7CUF9R2G75AAAH","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":10000}
            C 40
            S 40{"sid":"V-7qX6LojTXsgoUoAAAH"}
            """#),
        Transcript(
            "Connection state recovery: Websocket cut by the proxy, four missed packets, resumed, connection 1",
            #"""
            S 0{"sid":"CZ-eEimKQiRGZdt2AAAA","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"8sWzXN-PHlBpCxFyAAAA","pid":"B2YykoKxvfbq0z0vAAAB"}
            C 42["join","room1"]
            C 42["echo-event","first"]
            S 42["echo-event","first","Q7xWgm-"]
            """#),
        Transcript(
            "Connection state recovery: Websocket cut by the proxy, four missed packets, resumed, connection 2",
            #"""
            S 0{"sid":"q4JXbhgtAOWY1zqDAAAB","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40{"pid":"B2YykoKxvfbq0z0vAAAB","offset":"Q7xWgm-"}
            S 42["missed",1,"Q7xWgpz"]
            S 42["missed-room",2,"Q7xWgq3"]
            S 42["missed-all",3,"Q7xWgq8"]
            S 452-["missed-bin",{"_placeholder":true,"num":0},{"x":{"_placeholder":true,"num":1}},"Q7xWgqA"]
            s 00 1f 3e
            s 01 20 3f
            S 40{"sid":"8sWzXN-PHlBpCxFyAAAA","pid":"B2YykoKxvfbq0z0vAAAB"}
            C 42["echo-event","buffered while offline"]
            S 42["echo-event","buffered while offline","Q7xWgxb"]
            C 420["whoami"]
            S 430[{"id":"8sWzXN-PHlBpCxFyAAAA","nsp":"/","engine":"q4JXbhgtAOWY1zqDAAAB","transport":"websocket","protocol":4,"recovered":true,"rooms":["8sWzXN-PHlBpCxFyAAAA","room1"]}]
            C 41
            """#),
        Transcript(
            "Connection state recovery: Disconnected longer than maxDisconnectionDuration: new sid and pid, connection 1",
            #"""
            S 0{"sid":"LtNNrjCg4cr3wRTKAAAB","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"_uyVs5qfnsJSNSo8AAAC","pid":"TP8qg2pnYa4aAyVDAAAD"}
            C 42["join","room1"]
            C 42["echo-event","first"]
            S 42["echo-event","first","Q7xWwWK"]
            """#),
        Transcript(
            "Connection state recovery: Disconnected longer than maxDisconnectionDuration: new sid and pid, connection 2",
            #"""
            S 0{"sid":"63807PWlSfx3O7AyAAAC","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40{"pid":"TP8qg2pnYa4aAyVDAAAD","offset":"Q7xWwWK"}
            S 40{"sid":"4C1vtrLVFrtmWOspAAAE","pid":"VagQesR3E9XOHmAKAAAF"}
            C 42["echo-event","buffered while offline"]
            S 42["echo-event","buffered while offline","Q7xWxPy"]
            C 420["whoami"]
            S 430[{"id":"4C1vtrLVFrtmWOspAAAE","nsp":"/","engine":"63807PWlSfx3O7AyAAAC","transport":"websocket","protocol":4,"recovered":false,"rooms":["4C1vtrLVFrtmWOspAAAE"]}]
            C 41
            """#),
        Transcript(
            "Connection state recovery: Server without recovery: the missed packets are lost, connection 1",
            #"""
            S 0{"sid":"L-E7bps-eMUX40kiAABL","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"pFI-Fr5kFizK7ocoAABL"}
            C 42["join","room1"]
            C 42["echo-event","first"]
            S 42["echo-event","first"]
            """#),
        Transcript(
            "Connection state recovery: Server without recovery: the missed packets are lost, connection 2",
            #"""
            S 0{"sid":"CuWfRVfRARyRQJ9XAABM","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"ocCMH5VA48OqjzFeAABM"}
            C 42["echo-event","buffered while offline"]
            S 42["echo-event","buffered while offline"]
            C 420["whoami"]
            S 430[{"id":"ocCMH5VA48OqjzFeAABM","nsp":"/","engine":"CuWfRVfRARyRQJ9XAABM","transport":"websocket","protocol":4,"recovered":false,"rooms":["ocCMH5VA48OqjzFeAABM"]}]
            C 41
            """#),
        Transcript(
            "Volatile: Volatile event while not connected is dropped",
            #"""
            S 0{"sid":"Qs25I8ls8Yj-W87XAAA_","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}
            C 40
            S 40{"sid":"luhaxA_-J2kD-fqXAAA2"}
            C 42["echo-event","kept"]
            S 42["echo-event","kept"]
            C 41
            """#),
        Transcript(
            "Version mismatch: EIO=4 client, official v2 server, websocket",
            #"""
            S 0{"sid":"T-gPRwV9sE9LQ7wnAAAJ","upgrades":[],"pingInterval":25000,"pingTimeout":20000}
            S 40
            C 40
            """#),
    ]
}
