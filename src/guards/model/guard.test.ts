import { expect, test } from 'vitest'
import type { RetomaError } from '../../errors/errors.ts'
import { defineJob } from '../../jobs/model/job.ts'
import { minutes, seconds } from '../../lib/values/duration.ts'
import { defineGuard, type GuardOptions } from './guard.ts'
import { guardNow } from './guard-value.ts'
import { parsePair, parseTable } from './table-name.ts'

const good: GuardOptions = {
  name: 'documents',
  table: 'documents',
  status: { column: 'status', running: 'PROCESSING' },
  signal: 'updated_at',
  after: minutes(10),
  set: { status: 'FAILED' },
}
const job = defineJob({ kind: 'k', run: () => {} })

test('a guard has usual values for what is not said', () => {
  expect(defineGuard(good)).toEqual({
    name: 'documents',
    table: { schema: null, name: 'documents' },
    status: { column: 'status', running: ['PROCESSING'] },
    signal: ['updated_at'],
    after: minutes(10),
    every: minutes(1),
    limit: 500,
    timeZone: 'UTC',
    where: {},
    job: null,
    set: { status: 'FAILED' },
    enqueue: null,
    private: false,
  })
})

test('with a job and nothing to set, the signal is set to now', () => {
  const { set: _, ...rest } = good
  expect(defineGuard({ ...rest, enqueue: { job: job as never, input: () => ({}) } }).set).toEqual({
    updated_at: guardNow,
  })
})

test.each<[string, unknown, string, string]>([
  ['no object', null, 'defineGuard takes one object', 'defineGuard recebe um objeto'],
  [
    'a typo in an option',
    { ...good, sginal: 1 },
    'there is no option "sginal", did you mean "signal"?',
    'você quis dizer "signal"?',
  ],
  [
    'a typo deeper',
    { ...good, status: { colum: 'a' } },
    '"status.colum", did you mean "column"?',
    '"status.colum", você quis dizer "column"?',
  ],
  ['a bad name', { ...good, name: 'two words' }, 'name must be 1 to 100 letters', 'name deve ter'],
  [
    'a private that is no boolean',
    { ...good, private: 'yes' },
    'private must be true or false',
    'private deve ser true ou false',
  ],
  ['no table', { ...good, table: undefined }, 'table must be a name such as documents', 'table deve ser um nome'],
  ['a table of three parts', { ...good, table: 'a.b.c' }, 'not "a.b.c"', 'não "a.b.c"'],
  ['a table of ours', { ...good, table: 'retoma.job' }, 'the tables of Retoma are not guarded', 'não se vigiam'],
  ['no status', { ...good, status: 'PROCESSING' }, 'status must be such as {', 'status deve ser como {'],
  [
    'no running value',
    { ...good, status: { column: 'a', running: [] } },
    'status.running must be',
    'status.running deve ser',
  ],
  [
    'no signal',
    { ...good, signal: undefined },
    'signal must name a column, not undefined',
    'signal deve nomear uma coluna',
  ],
  [
    'a duration without its unit',
    { ...good, after: 10 },
    'after must be a duration from 1 second',
    'after deve ser uma duração',
  ],
  ['every too often', { ...good, every: seconds(0.5) }, 'every must be a duration', 'every deve ser uma duração'],
  [
    'a limit that is none',
    { ...good, limit: 0 },
    'limit must be a whole number from 1 to 10000, not 0',
    'limit deve ser',
  ],
  [
    'an unknown time zone',
    { ...good, timeZone: 'America/Sao_Paolo' },
    'did you mean "America/Sao_Paulo"?',
    'você quis dizer',
  ],
  ['nothing to do', { ...good, set: undefined }, 'it needs set or enqueue', 'falta set ou enqueue'],
  ['an empty list', { ...good, where: { a: [] } }, 'where.a is an empty list', 'where.a é uma lista vazia'],
  [
    'a value that is none',
    { ...good, set: { status: undefined } },
    'set.status must be a text',
    'set.status deve ser um texto',
  ],
  [
    'a NUL',
    { ...good, set: { status: 'a\u0000' } },
    'set.status holds a NUL character',
    'set.status tem um caractere NUL',
  ],
  [
    'a circle',
    { ...good, set: { status: circle() } },
    'set.status.self contains itself',
    'set.status.self contém a si mesmo',
  ],
  [
    'a job that is none',
    { ...good, enqueue: { job: {}, input: () => 1 } },
    'enqueue.job must be made by defineJob',
    'deve ser feito por defineJob',
  ],
  ['no input', { ...good, enqueue: { job } }, 'enqueue.input must be a function', 'enqueue.input deve ser uma função'],
  [
    'a mark that changes nothing',
    { ...good, set: { note: 'x' } },
    'set leaves the row as lost as it was',
    'set deixa a linha tão perdida',
  ],
  ['a mark that stays at work', { ...good, set: { status: 'PROCESSING' } }, 'set leaves the row', 'set deixa a linha'],
])(/* biome-ignore format: a table */ '%s is refused', (_, given, en, pt) => {
  let error: RetomaError | undefined
  try {
    defineGuard(given as GuardOptions)
  } catch (thrown) {
    error = thrown as RetomaError
  }
  expect(error).toMatchObject({ code: 'bad_definition' })
  expect(error!.in('en')).toContain(en)
  expect(error!.in('pt')).toContain(pt)
})

function circle(): object {
  const it: Record<string, unknown> = {}
  it.self = it
  return it
}

test('a mark may end it by the status, by the signal, or by what else is looked for', () => {
  const { set: _, ...rest } = good
  for (const set of [{ status: 'X' }, { updated_at: guardNow }, { tried: true }])
    defineGuard({ ...rest, where: { tried: false }, set })
})

test.each([
  ['documents', { schema: null, name: 'documents' }],
  ['Billing.Documents', { schema: 'Billing', name: 'Documents' }],
  ['"odd.schema"."a ""b"""', { schema: 'odd.schema', name: 'a "b"' }],
  ['documents; drop table x', { schema: null, name: 'documents; drop table x' }],
  ['a.b.c', undefined],
  ['a"b', undefined],
  ['', undefined],
  ['.a', undefined],
  ['a\u0000', undefined],
])('the table %j is %j', (text, name) => {
  expect(parseTable(text)).toEqual(name)
})

test.each([
  ['status=FAILED', { column: 'status', value: 'FAILED' }],
  ['note=a=b', { column: 'note', value: 'a=b' }],
  ['note=', { column: 'note', value: '' }],
  ['note=two\nlines', { column: 'note', value: 'two\nlines' }],
  ['"a=b"=c', { column: 'a=b', value: 'c' }],
  ['note', undefined],
  ['=x', undefined],
])('the pair %j is %j', (text, pair) => {
  expect(parsePair(text)).toEqual(pair)
})
