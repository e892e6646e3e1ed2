/** Ways to follow a stream of events in a test. */
import { onTestFinished } from 'vitest'
import { openDb } from '../../src/database/db.ts'
import { type EngineEvent, milliseconds, seconds } from '../../src/index.ts'
import { silentLog } from '../../src/lib/logging/log.ts'
import type { VirtualClock } from '../../src/testing/index.ts'

/** How often the feed looks. */
export const tick = milliseconds(250)

/** Reads on its own until the stream ends. */
export function follow(stream: AsyncIterable<EngineEvent>) {
  const seen: EngineEvent[] = []
  const read = async () => {
    for await (const event of stream) seen.push(event)
  }
  return { seen, ended: read(), brief: () => seen.map(brief) }
}

export function brief({ type, data }: EngineEvent): string {
  const facts = data as Record<string, unknown>
  if (type === 'state') return `${facts.from} -> ${facts.to}`
  if (type === 'item') return `item ${facts.ref} ${facts.state}`
  return type === 'action' ? `action ${facts.what}` : type
}

/** The next `count` events; the clock goes on meanwhile. */
export async function take(t: { clock: VirtualClock }, stream: AsyncIterator<EngineEvent>, count: number) {
  const taken: EngineEvent[] = []
  for (let n = 0; n < count; n++) {
    const next = stream.next()
    let over = false
    void next.finally(() => (over = true))
    while (!over) await t.clock.advance(tick)
    const { value, done } = await next
    if (done) break
    taken.push(value)
  }
  return taken
}

/** Nothing more comes for a while. */
export async function isQuiet(t: { clock: VirtualClock }, seen: readonly unknown[]) {
  const before = seen.length
  await t.clock.advance(seconds(2))
  return seen.length === before
}

/** SQL by hand on the engine's own database. */
export async function sqlOf(t: { databaseUrl: string }) {
  const db = openDb({ url: t.databaseUrl, log: silentLog, connections: 2 })
  onTestFinished(() => db.close())
  return <Row = unknown>(text: string) => db.run<Row>({ name: '', text }, [])
}
