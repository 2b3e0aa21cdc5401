extension Transcript {
    /// Conversations between python-socketio 5.18.1 and the official client 4.8.3.
    static let python: [Transcript] = [
        Transcript(
            "Namespaces with auth: Python-socketio: an event emitted inside the connect handler arrives BEFORE the CONNECT answer",
            #"""
            S 0{"sid":"QQMz0i-vwQJLvTBiAADQ","upgrades":[],"pingTimeout":20000,"pingInterval":25000,"maxPayload":1000000}
            C 40/hello,
            S 42/hello,["hello",{"nsp":"/hello"}]
            S 40/hello,{"sid":"J_tm72pDxWy7IAbpAADR"}
            C 41/hello,
            """#),
        Transcript(
            "CONNECT_ERROR: Python-socketio: rejected connect; unknown namespace (error payload is a JSON string)",
            #"""
            S 0{"sid":"NoWzXEyrfy_cxIhMAACI","upgrades":[],"pingTimeout":20000,"pingInterval":25000,"maxPayload":1000000}
            C 40
            S 40{"sid":"q4ypMrNoDESsd-4UAACJ"}
            C 40/reject,
            S 44/reject,{"message":"Connection rejected by server"}
            C 40/nope,
            S 44/nope,"Unable to connect"
            C 41
            """#),
        Transcript(
            "JSON values: Python-socketio (ASCII-escaped JSON)",
            #"""
            S 0{"sid":"59VcWDpToPtfHfIdAADK","upgrades":[],"pingTimeout":20000,"pingInterval":25000,"maxPayload":1000000}
            C 40
            S 40{"sid":"EOIVsO-Te8GHQS4OAADL"}
            C 420["types"]
            S 430[[null,true,false,0,-1,1.5,-0.001,1e+21,9007199254740991,-9007199254740991,"","plain","quote\"back\\slash/\n\t","\u0000\u001f\u007f\u2028\u2029","\u00c4 \u00df \u2014 \u3066\u3059\u3068 \u042f","\ud83d\ude00\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67\u200d\ud83d\udc66\ud83c\udde8\ud83c\udded",[],{},[[[]]],{"a":{"b":[1,{"c":null}]}},{"_placeholder":"no"},{"":"empty key","\u00e9":1}]]
            C 42["echo-event","é😀‹2028›",1.5,0,1e+21,9007199254740991,null,true,[],{},"1970-01-01T00:00:00.000Z"]
            S 42["echo-event","\u00e9\ud83d\ude00\u2028",1.5,0,1e+21,9007199254740991,null,true,[],{},"1970-01-01T00:00:00.000Z"]
            C 41
            """#),
        Transcript(
            "Ping/pong: Same, python-socketio: close code 1000",
            answersPings: false,
            #"""
            S 0{"sid":"3b-0Hc6t1n7N4GZCAAAw","upgrades":[],"pingTimeout":1000,"pingInterval":1000,"maxPayload":1000000}
            C 40
            S 40{"sid":"ErOQ_S-jKNzmJwpwAAAx"}
            S 2
            """#),
        Transcript(
            "Server disconnect / close: Python-socketio",
            #"""
            S 0{"sid":"n_Ojyp_7YMWAUM9aAACB","upgrades":[],"pingTimeout":20000,"pingInterval":25000,"maxPayload":1000000}
            C 40
            S 40{"sid":"1nOwsVru84Io0NfGAACC"}
            C 40/chat,
            S 40/chat,{"sid":"YF7psIzImGOlFtlAAACD"}
            C 42["disconnect-me",false]
            S 41
            C 42/chat,["disconnect-me",true]
            S 41/chat,
            """#),
        Transcript(
            "Server disconnect / close: Python-socketio asyncio: only Engine.IO packet '1' is sent, the websocket stays open",
            #"""
            S 0{"sid":"xmY8Y1h3rcPZtYbEAAB_","upgrades":[],"pingTimeout":20000,"pingInterval":25000,"maxPayload":1000000}
            C 40
            S 40{"sid":"Gkcs25_I5oJ4QVNRAACA"}
            C 42["engine-close"]
            S 1
            C 41
            """#),
        Transcript(
            "Server disconnect / close: Python-socketio werkzeug: packet '1' then close 1000",
            #"""
            S 0{"sid":"bmICIOCWW9MS44ZGAAB-","upgrades":[],"pingTimeout":20000,"pingInterval":25000,"maxPayload":1000000}
            C 40
            S 40{"sid":"lR1Cnq0XjzjH6pXHAAB_"}
            C 42["engine-close"]
            S 1
            """#),
        Transcript(
            "Admin namespace (python-socketio instrument()): Accepted",
            #"""
            S 0{"sid":"ye7WAZY5bR92N72BAAAI","upgrades":[],"pingTimeout":20000,"pingInterval":25000,"maxPayload":1000000}
            C 40/admin,{"username":"admin","password":"lab"}
            S 42/admin,["socket_connected",{"id":"Ayo-ZalYxX1RajbWAAAJ","clientId":"ye7WAZY5bR92N72BAAAI","transport":"websocket","nsp":"/admin","data":{},"handshake":{"address":"127.0.0.1","headers":{"sec_websocket_version":"13","sec_websocket_key":"FHcA1pb+E7ELu5uIxobbTQ==","connection":"Upgrade","upgrade":"websocket","sec_websocket_extensions":"permessage-deflate; client_max_window_bits","host":"127.0.0.1:4100"},"query":{"EIO":"4","transport":"websocket"},"secure":false,"url":"/socket.io/","issued":1795221884910.9,"time":"2026-11-21T00:44:44.910900+00:00"},"rooms":["Ayo-ZalYxX1RajbWAAAJ"]},"2026-11-21T00:44:44.910900+00:00"]
            S 40/admin,{"sid":"Ayo-ZalYxX1RajbWAAAJ"}
            S 42/admin,["config",{"supportedFeatures":["AGGREGATED_EVENTS","EMIT","JOIN","LEAVE","DISCONNECT","MJOIN","MLEAVE","MDISCONNECT","ALL_EVENTS"]}]
            S 42/admin,["all_sockets",[{"id":"Ayo-ZalYxX1RajbWAAAJ","clientId":"ye7WAZY5bR92N72BAAAI","transport":"websocket","nsp":"/admin","data":{},"handshake":{"address":"127.0.0.1","headers":{"sec_websocket_version":"13","sec_websocket_key":"FHcA1pb+E7ELu5uIxobbTQ==","connection":"Upgrade","upgrade":"websocket","sec_websocket_extensions":"permessage-deflate; client_max_window_bits","host":"127.0.0.1:4100"},"query":{"EIO":"4","transport":"websocket"},"secure":false,"url":"/socket.io/","issued":1795221884910.9,"time":"2026-11-21T00:44:44.910900+00:00"},"rooms":["Ayo-ZalYxX1RajbWAAAJ"]}]]
            S 42/admin,["room_joined","/admin","Ayo-ZalYxX1RajbWAAAJ","Ayo-ZalYxX1RajbWAAAJ","2026-11-21T00:44:44.910870+00:00"]
            C 41/admin,
            S 42/admin,["socket_disconnected","/admin","Ayo-ZalYxX1RajbWAAAJ","client disconnect","2026-11-21T00:44:47.523693+00:00"]
            """#),
        Transcript(
            "Admin namespace (python-socketio instrument()): Wrong password; note an event before CONNECT_ERROR",
            #"""
            S 0{"sid":"5zMPgV_Qz2pohcPpAAAK","upgrades":[],"pingTimeout":20000,"pingInterval":25000,"maxPayload":1000000}
            C 40/admin,{"username":"admin","password":"x"}
            S 42/admin,["socket_connected",{"id":"4bpPRYDo71pN2JZIAAAL","clientId":"5zMPgV_Qz2pohcPpAAAK","transport":"websocket","nsp":"/admin","data":{},"handshake":{"address":"127.0.0.1","headers":{"sec_websocket_version":"13","sec_websocket_key":"JW4ggkJ9SWx9LgS5jWpMXQ==","connection":"Upgrade","upgrade":"websocket","sec_websocket_extensions":"permessage-deflate; client_max_window_bits","host":"127.0.0.1:4100"},"query":{"EIO":"4","transport":"websocket"},"secure":false,"url":"/socket.io/","issued":1795221888767.3135,"time":"2026-11-21T00:44:48.767313+00:00"},"rooms":["4bpPRYDo71pN2JZIAAAL"]},"2026-11-21T00:44:48.767313+00:00"]
            S 44/admin,{"message":"authentication failed"}
            """#),
    ]
}
