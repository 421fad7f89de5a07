// What loads the frameworks, in one process and on one server: to load them takes longer than many of the tests.
import { after } from "node:test";
import { Server } from "../../support/server.js";
import "./frameworks/artifacts.js";
import "./frameworks/effective.js";
import "./frameworks/google.js";
import "./frameworks/memory.js";
import "./frameworks/runner.js";
import "./frameworks/service.js";
import "./frameworks/wire.js";

after(async () => await (await Server.shared()).remove());
