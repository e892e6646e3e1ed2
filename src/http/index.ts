/** The door `retoma/http`: a fetch handler that mounts in Next.js, Express, Hono or Fastify. */
export { type App, type AppOptions, createApp } from './app.ts'
