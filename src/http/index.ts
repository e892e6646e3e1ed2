/** The door `retoma/http`: a fetch handler that mounts in Next.js, Express, Hono or Fastify. */
export { type App, type AppOptions, createApp } from './app.ts'
export { type CronOptions, cronRoutes } from './cron.ts'
export type { Asker } from './doorkeeper.ts'
export { limitHeaders, type RouteLimit } from './limits.ts'
export { type NodeHandler, toNodeHandler } from './node.ts'
export { type Call, type Peer, type Principal, type Role, type Route, type RouteOptions, route } from './route.ts'
export { type SseOptions, sse, type Told } from './sse.ts'
export type { System } from './system.ts'
