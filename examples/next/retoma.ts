/** One engine for the whole process: Next.js loads modules anew while you develop. */
import { createEngine, defineBatch, defineJob, type Engine } from 'retoma'
import { type App, createApp } from 'retoma/http'
import { lostDocuments, processDocument, table, upload } from './documents.ts'

const hello = defineJob({ kind: 'hello', run: (_, { name }: { name: string }) => `Hello, ${name}` })

interface Started {
  engine: Engine
  app: App
  /** Calls `upload` of the module which started the engine: Next.js has a copy of each module in every route. */
  upload(filename: string, body: AsyncIterable<Uint8Array>): Promise<string>
}

async function start(): Promise<Started> {
  const engine = await createEngine({
    jobs: [hello, processDocument],
    batches: [defineBatch({ name: 'hellos', job: hello })],
    guards: [lostDocuments],
  })
  await engine.query(table)
  // On Vercel no process lives longer than a request: the cron in vercel.json calls /retoma/api/v1/cron/tick?work=45s.
  if (process.env.VERCEL === undefined) await engine.work()
  // By default Next.js ends the process as soon as no request is open; NEXT_MANUAL_SIG_HANDLE in package.json leaves the end
  // to this code.
  const leave = () => engine.close().finally(() => process.exit(0))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, leave)
  // Your app identifies the user, from your log-in; here the user is always Ana.
  const who = () => ({ user: 'ana', role: 'admin' as const })
  const options = { basePath: '/retoma', who, cronSecret: process.env.CRON_SECRET }
  return { engine, app: createApp(engine, options), upload: (name, body) => upload(engine, name, body) }
}

const kept = globalThis as { retoma?: Promise<Started> }

export function retoma(): Promise<Started> {
  kept.retoma ??= start()
  return kept.retoma
}
