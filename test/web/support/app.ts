/** A real server with the dashboard, on a database of its own, at a port of its own. */
import { createApp, type System } from '../../../src/http/index.ts'
import { listen } from '../../../src/http/server.ts'
import type { AnyJob, Engine, EngineOptions } from '../../../src/index.ts'
import { migratedDatabase } from '../../support/database.ts'
import { liveEngine } from '../../support/engine.ts'
import { onTestFinished } from '../../support/together.ts'

interface AppOptions {
  jobs?: AnyJob[]
  engine?: Omit<EngineOptions, 'jobs' | 'databaseUrl'>
  basePath?: string
  systems?: readonly System[]
  /** Who asks. Default: everybody on this machine, as an admin. */
  role?: 'viewer' | 'operator' | 'admin'
}

export interface WebApp {
  engine: Engine
  /** The address of the dashboard, with a slash at the end. */
  url: string
  /** Stops the server, and starts it again at the same port; the engine goes on. */
  stop(): Promise<void>
  start(): Promise<void>
}

export async function webApp({
  jobs = [],
  engine: options = {},
  basePath = '',
  systems = [],
  role,
}: AppOptions = {}): Promise<WebApp> {
  // A copy of the database with the tables of all systems takes a third of the time of their migrations.
  const database = systems.length > 0 ? await migratedDatabase('with systems') : undefined
  if (database !== undefined) onTestFinished(database.drop)
  const { engine } = await liveEngine(jobs, { ...options, ...(systems.length > 0 ? { systems } : {}) }, database?.url)
  engine.watch()
  // A server that stops ends its streams for good, so a server that starts has an app of its own.
  const newApp = () =>
    createApp(engine, {
      basePath,
      ...(role === undefined ? { open: true } : { who: () => ({ user: 'ana', role }) }),
      systems,
      simulated: systems.flatMap(each => each.simulated ?? []),
      routes: systems.flatMap(each => each.routes),
    })
  let server = await listen(newApp(), '127.0.0.1', 0)
  const { port } = server
  onTestFinished(() => server.close())
  return {
    engine,
    url: `http://127.0.0.1:${port}${basePath}/`,
    stop: () => server.close(),
    async start() {
      server = await listen(newApp(), '127.0.0.1', port)
    },
  }
}
