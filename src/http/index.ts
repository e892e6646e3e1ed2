/** The door `retoma/http`: a fetch handler that mounts in Next.js, Express, Hono or Fastify. */
export { type App, type AppOptions, createApp } from './app.ts'
export { limitHeaders, type RouteLimit } from './limits.ts'
export { type Call, type Peer, type Principal, type Role, type Route, type RouteOptions, route } from './route.ts'
