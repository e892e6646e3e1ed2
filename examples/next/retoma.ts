/** One engine for the whole process: Next.js loads modules anew while you develop. */
import { createEngine, defineBatch, defineJob } from 'retoma'
import { type App, createApp } from 'retoma/http'

const hello = defineJob({ kind: 'hello', run: (_, { name }: { name: string }) => `Hello, ${name}` })

async function start(): Promise<App> {
  const engine = await createEngine({ jobs: [hello], batches: [defineBatch({ name: 'hellos', job: hello })] })
  // On a serverless host leave this out, run `retoma worker` elsewhere, or have a cron call /retoma/api/v1/cron/tick?work=45s.
  await engine.work()
  // Next.js by itself ends the process as soon as no request is open; NEXT_MANUAL_SIG_HANDLE in package.json leaves it to us.
  const leave = () => engine.close().finally(() => process.exit(0))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, leave)
  // Who is asking is for your app to say, from its own log-in; here it is always Ana.
  const who = () => ({ user: 'ana', role: 'admin' as const })
  const options = { basePath: '/retoma', who }
  return createApp(engine, options)
}

const kept = globalThis as { retoma?: Promise<App> }

export function retoma(): Promise<App> {
  kept.retoma ??= start()
  return kept.retoma
}
