/** The routes of the quotes over an engine on the virtual clock, with simulated providers that answer at once. */
import type { VirtualClock } from '../../../src/testing/index.ts'
import { doorWith } from '../../../test/http/support.ts'
import { workOn } from '../../../test/support/application.ts'
import { timePasses } from '../../../test/support/engine.ts'
import { type QuotesOptions, quotes } from '../index.ts'
import { readQuotesSettings } from '../settings.ts'

export async function quotesDoor(options: QuotesOptions = {}, more: { start?: Date } = {}) {
  const system = quotes({ settings: readQuotesSettings({}), simulatedDelays: false, ...options })
  const door = await doorWith([], { systems: [system], ...more, app: { routes: system.routes } })
  const { ask } = door
  return {
    ...door,
    system,
    work: () => workOn(door),
    /** Returns the id. */
    quote: async (description: string, kind?: 'vehicle' | 'product'): Promise<string> =>
      (await ask('POST', '/api/quotes', { body: { description, ...(kind === undefined ? {} : { kind }) } })).body.id,
    batch: async (descriptions: readonly string[]): Promise<string> =>
      (await ask('POST', '/api/quotes/batch', { body: { quotes: descriptions.map(description => ({ description })) } }))
        .body.id,
    read: async (id: string) => (await ask('GET', `/api/quotes/${id}`)).body,
    stats: async () => (await ask('GET', '/api/system/processing-stats')).body,
    batchStatus: async (id: string) => (await ask('GET', `/api/system/batch-status/${id}`)).body,
  }
}

interface Heard {
  event: string
  data: Record<string, unknown>
}

/** Reads a stream to the end, while time passes. */
export async function heard(clock: VirtualClock, response: Response): Promise<Heard[]> {
  let text: string | undefined
  void response.text().then(read => {
    text = read
  })
  await timePasses(clock, () => text !== undefined)
  return text!
    .split('\n\n')
    .filter(block => block.startsWith('event:'))
    .map(block => {
      const lines = Object.fromEntries(block.split('\n').map(line => line.split(/: (.*)/s).slice(0, 2)))
      return { event: lines.event, data: JSON.parse(lines.data) }
    })
}
