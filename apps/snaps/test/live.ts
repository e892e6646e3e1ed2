/** Engines of the snaps on the system clock, and requests to their routes. */
import { onTestFinished } from 'vitest'
import { createEngine, type Duration } from '../../../src/index.ts'
import { silentLog } from '../../../src/lib/logging/log.ts'
import { doorOf } from '../../../test/http/support.ts'
import type { Limits } from '../image/index.ts'
import { snaps } from '../index.ts'
import { readSnapsSettings } from '../settings.ts'
import { formOf } from './door.ts'

export interface LiveOptions {
  url: string
  limits?: Limits
  concurrency?: number
}

export async function liveSnaps({ url, limits, concurrency = 4 }: LiveOptions) {
  const system = snaps({ settings: { ...readSnapsSettings({}), concurrency }, ...(limits && { limits }) })
  const engine = await createEngine({ databaseUrl: url, systems: [system], log: silentLog })
  onTestFinished(() => engine.close())
  const { fetch, ask } = doorOf(engine, { routes: system.routes })
  const sql = async <Row extends object = Record<string, unknown>>(text: string, values: unknown[] = []) =>
    (await engine.query<Row>(text, values)).rows
  return {
    engine,
    sql,
    ask,
    work: (options: { grace?: Duration } = {}) => engine.work({ queues: system.queues!, ...options }),
    /** Returns the id. */
    async send(bytes: Uint8Array, name = 'foto.jpg'): Promise<string> {
      const init = { method: 'POST', body: formOf(bytes, { name }) }
      const response = await fetch(new Request('http://127.0.0.1:3000/api/snaps', init))
      return ((await response.json()) as { id: string }).id
    },
    read: async (id: string) => (await ask('GET', `/api/snaps/${id}`)).body,
    /** The snap after its end, with the code of its error. */
    async ended(id: string) {
      const [{ job } = { job: '' }] = await sql<{ job: string }>(
        `select job_id::text as job from snaps.snap where id = $1`,
        [id],
      )
      const { error } = await engine.wait({ job })
      return { code: error?.code ?? null, ...(await ask('GET', `/api/snaps/${id}`)).body }
    },
  }
}
