/** Each table of the command line has every value under its own heading; a next page keeps the filter of the first. */
import { describe, expect, test, vi } from 'vitest'
import { itemLines } from '../../src/cli/commands/batch/batch-items.ts'
import { jobLines, repeated } from '../../src/cli/commands/jobs/jobs-list.ts'
import { providerLines } from '../../src/cli/commands/providers.ts'
import { scheduleLines } from '../../src/cli/commands/schedules.ts'
import { queueLines } from '../../src/cli/commands/status.ts'
import { tokenLines } from '../../src/cli/commands/token.ts'
import { workerLines } from '../../src/cli/commands/workers.ts'
import { batchTable } from '../../src/cli/format/batch-lines.ts'
import { guardLines } from '../../src/cli/format/guard-lines.ts'
import { messagesIn } from '../../src/cli/messages/index.ts'
import type { Output } from '../../src/cli/output.ts'
import { main } from '../../src/cli/program.ts'
import {
  type BatchView,
  defineBatch,
  defineJob,
  type GuardView,
  type JobView,
  type QueueView,
  type WorkerView,
} from '../../src/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { liveEngine } from '../support/engine.ts'

const output = { language: 'en', json: false, word: messagesIn.en } as Output

/** Each row by its headings; columns are at least two spaces apart. */
function read([head, ...rows]: string[]): Record<string, string>[] {
  const places = [...head!.matchAll(/\S+(?: \S+)*/g)].map(found => ({ name: found[0], from: found.index }))
  const cellsOf = (line: string) => [...line.matchAll(/\S+(?: \S+)*/g)].map(found => [found.index, found[0]] as const)
  return rows.map(row => {
    const cells: Record<string, string> = {}
    for (const [from, text] of cellsOf(row)) {
      // Numbers end where their heading ends, and texts begin where theirs begins.
      const place = places.find(each => each.from === from || each.from + each.name.length === from + text.length)
      cells[place?.name ?? ''] = text
    }
    return cells
  })
}
/** A minute later than that, so that `in 2 days` stays true while the test runs. */
const daysAgo = (days: number) => new Date(systemClock.now().getTime() - days * 86_400_000 + (days < 0 ? 60_000 : 0))

test('status: each number of a queue is under its own heading', () => {
  const queue: QueueView = {
    queue: 'mail',
    paused: true,
    limits: {},
    ready: 11,
    scheduled: 22,
    running: 33,
    stalled: 44,
  }
  expect(read(queueLines([queue], output))).toEqual([
    { queue: 'mail', ready: '11', scheduled: '22', running: '33', stalled: '44', '': 'paused' },
  ])
})

const worker: WorkerView = {
  id: 'w1', host: 'box', pid: 77, version: '0', queues: { mail: 5, pdf: 2 }, freeSlots: {}, kinds: [], startedAt: daysAgo(3),
  heartbeatAgeSeconds: 180, suspected: false, dead: false, running: 4, memoryBytes: null, loopLagMs: 900, abandoned: 6,
  writeLagMs: 0, supervised: false, blocked: null,
} // biome-ignore format: one row

describe('workers:', () => {
  test('each fact of a worker is under its own heading', () => {
    expect(read(workerLines([worker], output))).toEqual([
      {
        worker: 'w1', heartbeat: '3 min. ago', state: 'alive', running: '4', abandoned: '6', lag: '900 ms',
        queues: 'mail:5 pdf:2', host: 'box', pid: '77', started: '3 days ago',
      },
    ]) // biome-ignore format: one row
  })

  test.each<[string, Partial<WorkerView>]>([
    ['alive', {}],
    ['silent', { suspected: true }],
    ['dead', { dead: true }],
    ['dead', { dead: true, suspected: true }],
    ['blocked', { blocked: { seconds: 9, job: '3', attempt: 1, stack: null } }],
    ['silent', { suspected: true, blocked: { seconds: 9, job: '3', attempt: 1, stack: null } }],
  ])('a worker is shown as %s when %o', (state, given) => {
    expect(read(workerLines([{ ...worker, ...given }], output))[0]!.state).toBe(state)
  })
})

test('jobs list and batch items: each fact of a job is under its own heading', () => {
  const job = {
    id: '17', kind: 'send', queue: 'mail', state: 'failed', attempt: 3, createdAt: daysAgo(2), ref: 'doc-9',
    error: { message: 'no route' },
  } as JobView // biome-ignore format: one row
  expect(read(jobLines([job], output))).toEqual([
    {
      id: '17', kind: 'send', queue: 'mail', state: 'failed', attempt: '3', created: '2 days ago', ref: 'doc-9',
      error: 'no route',
    },
  ]) // biome-ignore format: one row
  expect(read(itemLines([job], output))).toEqual([
    { id: '17', ref: 'doc-9', state: 'failed', attempts: '3', error: 'no route' },
  ])
})

test('batch list: each number of a batch is under its own heading', () => {
  const batch = {
    id: '5', name: 'night', state: 'running', percent: 12.5, total: 2000, failed: 7, rate: 41, etaSeconds: 90,
    createdAt: daysAgo(1),
  } as BatchView // biome-ignore format: one row
  expect(read(batchTable([batch], systemClock.now(), output))).toEqual([
    {
      id: '5', batch: 'night', state: 'running', done: '12.5 %', items: '2,000', failed: '7', rate: '41.0/s',
      left: '1 min', created: '1 day ago',
    },
  ]) // biome-ignore format: one row
})

test('token list: each fact of a token is under its own heading', () => {
  const token = {
    id: '8', user: 'ana', role: 'viewer', shown: 'rt_abcd…', createdAt: daysAgo(9), createdBy: 'rui',
    usedAt: daysAgo(4), revokedAt: daysAgo(2),
  } as const // biome-ignore format: one row
  expect(read(tokenLines([token], output))).toEqual([
    {
      id: '8', user: 'ana', role: 'viewer', token: 'rt_abcd…', made: '9 days ago', by: 'rui', used: '4 days ago',
      revoked: '2 days ago',
    },
  ]) // biome-ignore format: one row
})

test('schedules: each fact of a schedule is under its own heading', () => {
  const schedule = {
    name: 'nightly', kind: 'sweep', recurrence: { cron: '0 4 * * *', timeZone: 'UTC' }, catchUp: 'once', nextAt: daysAgo(-1),
    lastOccurrence: daysAgo(6), lastAt: daysAgo(5), lastJob: '12', active: false,
  } as unknown as Parameters<typeof scheduleLines>[0][number] // biome-ignore format: one row
  expect(read(scheduleLines([schedule], output))).toMatchObject([
    {
      schedule: 'nightly', kind: 'sweep', recurrence: '0 4 * * * (UTC)', next: expect.stringContaining('in 1 day'),
      last: '5 days ago', 'last job': '12', '': expect.stringContaining('no process'),
    },
  ]) // biome-ignore format: one row
})

test('providers: each fact of a provider is under its own heading', () => {
  const provider = {
    name: 'openrouter', state: 'stopped', kinds: [], waitUntil: null, consecutiveWaits: 0, waitsSince: null, stoppedAt: daysAgo(1),
    probeAt: daysAgo(-2), code: '402', message: 'no credit', at: daysAgo(1), probeError: null, probeErrorAt: null,
  } as const // biome-ignore format: one row
  expect(read(providerLines([{ ...provider, kinds: [] }], output))).toMatchObject([
    {
      provider: 'openrouter',
      state: messagesIn.en.providers.states.stopped,
      'asked again': expect.stringContaining('in 2 days'),
      'what it said': 'no credit',
    },
  ])
})

test('guards: each fact of a guard is under its own heading', () => {
  const guard = {
    name: 'orders', table: 'public.orders', status: { column: 'status', running: ['RUNNING'] }, signal: ['updated_at'],
    after: 600_000, every: 300_000, lastSweepAt: daysAgo(1), lastMarked: 13, total: 57, lastError: null, active: false,
    late: false, warnings: [],
  } as unknown as GuardView // biome-ignore format: one row
  expect(read(guardLines([guard], output))).toMatchObject([
    {
      guard: 'orders', table: 'public.orders', 'at work': 'status = RUNNING', lost: 'updated_at > 10m',
      sweeps: 'every 5m', 'last sweep': '1 day ago', marked: '13', 'in all': '57',
    },
  ]) // biome-ignore format: one row
})

describe('the command that shows the next page', () => {
  test('has the filter of this page, and not the place of this page', () => {
    expect(repeated({ state: 'failed', kind: 'send', limit: 5, after: '9' } as { after: string })).toBe(
      '--state failed --kind send --limit 5 ',
    )
  })

  test('quotes for a shell what is more than a word', () => {
    expect(repeated({ name: `night's run`, cause: '' } as { after?: string })).toBe(
      `--name 'night'\\''s run' --cause '' `,
    )
  })
})

describe('the next page of a list has the filter of the first page:', () => {
  const send = defineJob({ kind: 'send', queue: 'mail', run: () => 1 })
  const other = defineJob({ kind: 'other', queue: 'mail', run: () => 1 })
  const night = defineBatch({ name: 'night', job: send })
  const day = defineBatch({ name: 'day', job: send })

  /** Runs the command line in this process; returns the output. */
  async function retoma(command: string[]): Promise<string> {
    let printed = ''
    const write = vi.spyOn(process.stdout, 'write').mockImplementation(((text: string, done?: () => void) => {
      printed += text
      done?.()
      return true
    }) as never)
    try {
      expect(await main(command)).toBe(0)
    } finally {
      write.mockRestore()
    }
    return printed
  }

  /** As a shell takes it apart. */
  const argumentsOf = (line: string) => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(found => found[1] ?? found[2]!)

  async function filled() {
    const { engine, url } = await liveEngine([send, other], { batches: [night, day] })
    vi.stubEnv('DATABASE_URL', url)
    vi.stubEnv('LANG', 'C')
    for (let i = 0; i < 3; i++) {
      await engine.enqueue(send, undefined)
      await engine.enqueue(other, undefined)
      await engine.submit(night, [undefined, undefined, undefined])
      await engine.submit(day, [undefined])
      await engine.tokens.create({ user: 'ana maria', role: 'viewer' })
      await engine.tokens.create({ user: 'rui', role: 'operator' })
    }
    return engine
  }

  test('jobs, batches, items and tokens', async () => {
    const engine = await filled()
    const [batch] = (await engine.batches.list({ name: 'night' })).items
    const lists: [string[], RegExp][] = [
      [['jobs', 'list', '--kind', 'other', '--queue', 'mail', '--state', 'waiting'], / other +mail +waiting /],
      [['batch', 'list', '--name', 'night'], / night /],
      [['batch', 'items', batch!.id, '--state', 'waiting'], / waiting /],
      [['token', 'list', '--user', 'ana maria', '--role', 'viewer'], / ana maria +viewer /],
    ]
    for (const [command, row] of lists) {
      let rows = 0
      let pages = 0
      for (let next: string[] | undefined = [...command, '--limit', '2']; next !== undefined; pages++) {
        const printed = await retoma(next)
        const [, ...lines] = printed.trimEnd().split('\n')
        const more = /^there are more: retoma (.*)$/.exec(lines.at(-1)!)?.[1]
        if (more !== undefined) {
          lines.pop()
          expect(more).toContain('--limit 2')
        }
        for (const line of lines) expect(line).toMatch(row)
        rows += lines.length
        next = more === undefined ? undefined : argumentsOf(more)
      }
      expect([command.join(' '), rows]).toEqual([command.join(' '), 3])
      expect(pages).toBe(2)
    }
  })
})
