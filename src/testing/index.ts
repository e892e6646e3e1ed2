/** The entry point `retoma/testing`: the test tools of Retoma, for tests of applications. */
export { createTestDatabase, type TestDatabase } from './test-database.ts'
export { type TestEngine, type TestEngineOptions, testEngine } from './test-engine.ts'
export { startTestServer, type TestServer } from './test-server.ts'
export { VirtualClock } from './virtual-clock.ts'
