/** `batch show --watch` as a real process: in a terminal, into a pipe, and while the database goes away. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineBatch, defineJob } from '../../src/index.ts'
import { type TestDatabase, type TestEngine, testEngine } from '../../src/testing/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { linkTo } from '../support/link.ts'
import { seenOn } from '../support/terminal.ts'
import { folderWith, hasTerminal, start } from './support.ts'

const work = defineJob<number>({ kind: 'work', queue: 'q', run: (_, n) => n })
const works = defineBatch({ name: 'works', job: work })

let database: TestDatabase
let here: TestEngine
let folder: string

beforeAll(async () => {
  database = await migratedDatabase()
  here = await testEngine({ databaseUrl: database.url, batches: [works], start: new Date() })
  folder = folderWith({}, 'file')
})

afterAll(async () => {
  await here.close()
  await database.drop()
})

const submitted = async () => (await here.engine.submit(works, [1, 2, 3])).id
const watch = (id: string, more: { env?: Record<string, string>; terminal?: true } = {}) =>
  start(['batch', 'show', id, '--watch'], { folder, ...more, env: { DATABASE_URL: database.url, ...more.env } })

describe.runIf(hasTerminal)('in a terminal', () => {
  const terminal = true as const

  test('the bar is drawn in place until the batch is over, and what it came to stays', async () => {
    const id = await submitted()
    const program = watch(id, { terminal })
    const [first] = seenOn(await program.said('Ctrl-C')).frames
    expect(first).toEqual([
      `batch ${id} (works): waiting: nothing of it has started yet`,
      `[${'░'.repeat(40)}]  0.0 %  0 of 3`,
      '3 waiting',
      'Ctrl-C stops the watching, not the batch',
    ])
    await here.run()
    const { code, stdout } = await program.ended
    const { lines, cursor, usual } = seenOn(stdout)
    expect(code).toBe(0)
    expect(lines.slice(0, 3)).toEqual([
      `batch      ${id} (works)`,
      'state      over: every item has ended',
      `progress   [${'█'.repeat(30)}]  100.0 %  3 of 3`,
    ])
    expect({ usual, cursor }).toEqual({ usual: true, cursor: { row: lines.length, column: 0 } })
  })

  test('Ctrl-C ends it with whole lines and a usual terminal, and the batch goes on', async () => {
    const id = await submitted()
    const program = watch(id, { terminal, env: { LANG: 'pt_BR.UTF-8' } })
    await program.said('Ctrl-C encerra')
    program.type('\u0003')
    const { code, stdout } = await program.ended
    const { lines, cursor, usual } = seenOn(stdout)
    expect(code).toBe(130)
    expect(lines).toEqual([
      `lote ${id} (works): em espera: nada dele começou ainda`,
      `[${'░'.repeat(40)}]  0,0 %  0 de 3`,
      '3 em espera',
      'Ctrl-C encerra a exibição, não o lote',
    ])
    expect({ usual, cursor }).toEqual({ usual: true, cursor: { row: 4, column: 0 } })
    expect(await here.engine.batch(id)).toMatchObject({ state: 'waiting' })
    await here.run()
  })

  test('a database that goes away is reported below the bar, and it goes on when it is back', async () => {
    const id = await submitted()
    const link = await linkTo(database.url)
    const program = watch(id, { terminal, env: { DATABASE_URL: link.url } })
    await program.said('Ctrl-C')
    link.cut()
    const away = seenOn(await program.said('trying again for 1 s')).frames.at(-1)!
    expect(away.slice(0, 3)).toEqual([
      `batch ${id} (works): waiting: nothing of it has started yet`,
      `[${'░'.repeat(40)}]  0.0 %  0 of 3`,
      '3 waiting',
    ])
    const shown = away.slice(3).join(' ')
    expect(shown).toMatch(/^trying again for \d s: the database at 127\.0\.0\.1:\d+\/\w+ does not answer: /)
    expect(shown).not.toContain('…')
    await here.run()
    link.mend()
    const { code, stdout, stderr } = await program.ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(seenOn(stdout).lines[1]).toBe('state      over: every item has ended')
  })
})

test('into a pipe there is a line for each change and no escape sequence; an outage is reported on stderr', async () => {
  const id = await submitted()
  const link = await linkTo(database.url)
  const program = watch(id, { env: { DATABASE_URL: link.url, LOG_LEVEL: 'silent' } })
  await program.said('0.0 %')
  link.cut()
  await program.noted('does not answer')
  link.mend()
  await program.noted('the database answers again\n')
  await here.run()
  const { code, stdout, stderr } = await program.ended
  expect(code).toBe(0)
  expect(stdout).not.toContain('\u001b')
  const [first, empty, second] = stdout.split('\n')
  expect(first).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}waiting {2}0\.0 % {2}3 waiting$/)
  expect([empty, second]).toEqual(['', `batch      ${id} (works)`])
  expect(stderr).toMatch(/^the database at .* does not answer: .*; trying again\nthe database answers again\n$/)
})

test('a batch that was cancelled ends the watch with exit 1; with --json its last document says so', async () => {
  const id = await submitted()
  const program = start(['batch', 'show', id, '--watch', '--json'], { folder, env: { DATABASE_URL: database.url } })
  await program.said('"waiting"')
  await here.engine.batches.cancel(id)
  const { code, stdout } = await program.ended
  const documents = stdout.trimEnd().split('\n').map(line => JSON.parse(line)) // biome-ignore format: one thought
  expect({ code, states: documents.map(each => each.state) }).toEqual({ code: 1, states: ['waiting', 'cancelled'] })
  expect(documents.at(-1)).toMatchObject({ id, cancelled: 3, causes: [] })
})

test('with nobody left to read it the watch ends', async () => {
  const id = await submitted()
  const surroundings = { folder, env: { DATABASE_URL: database.url }, pipe: 'head -n 1' }
  const program = start(['batch', 'show', id, '--watch'], surroundings)
  await program.said('3 waiting')
  await here.engine.batches.pause(id)
  expect(await program.ended).toMatchObject({ code: 0, stderr: '' })
  await here.engine.batches.cancel(id)
})
