import { expect, test } from 'vitest'
import { minutes } from '../../lib/values/duration.ts'
import { defineGuard } from './guard.ts'
import { proposeGuard, type SeenColumn, statusOf } from './guard-proposal.ts'

const text = (name: string, labels: string[] | null = null): SeenColumn => ({ name, sort: 'text', labels })
const instant = (name: string): SeenColumn => ({ name, sort: 'instant', labels: null })
const documents = [text('status'), instant('created_at'), instant('updated_at'), text('error_message')]

test('a status that says at work and an updated_at make a guard', () => {
  expect(proposeGuard({ table: 'documents', columns: documents }, ['DONE', 'PROCESSING', 'ERROR'])).toEqual({
    name: 'documents',
    table: 'documents',
    status: { column: 'status', running: ['PROCESSING'] },
    signal: ['updated_at'],
    set: { status: 'ERROR', error_message: 'Processing timeout (watchdog)' },
  })
})

test('a heartbeat is asked first, and what went wrong is said in the letters that are there', () => {
  const columns = [instant('updatedAt'), text('state'), instant('last_heartbeat_at')]
  const guard = (value: string) => proposeGuard({ table: 'billing.syncs', columns }, [value])
  expect(guard('running')).toMatchObject({ signal: ['last_heartbeat_at', 'updatedAt'], set: { state: 'failed' } })
  expect(guard('Em andamento')).toMatchObject({ set: { state: 'Erro' } })
})

test('an enum is asked for what it can be, not its rows, and given nothing that it cannot', () => {
  const of = (labels: string[]) =>
    proposeGuard({ table: 'jobs', columns: [text('status', labels), instant('updated_at')] }, [])
  expect(of(['queued', 'in_progress', 'failed'])).toMatchObject({
    status: { running: ['in_progress'] },
    set: { status: 'failed' },
  })
  expect(of(['queued', 'in_progress', 'done'])).toBeUndefined()
})

test.each<[string, SeenColumn[], string[]]>([
  ['no status', [instant('updated_at'), text('name')], ['PROCESSING']],
  ['nothing that moves', [text('status'), instant('created_at')], ['PROCESSING']],
  ['a status of another kind', documents, ['active', 'archived']],
  ['no rows', documents, []],
])('%s: no guard', (_, columns, values) => {
  expect(proposeGuard({ table: 't', columns }, values)).toBeUndefined()
})

test('only where there is something to measure by are rows looked at', () => {
  expect(statusOf({ table: 't', columns: documents })?.name).toBe('status')
  expect(statusOf({ table: 't', columns: [text('status')] })).toBeUndefined()
})

test.each([
  ['billing.documents', 'billing.documents'],
  [`"odd.one".it's`, 'odd.one.it_s'],
  ['_jobs', 'table_jobs'],
  ['ação'.repeat(40), 'a__o'.repeat(25)],
])('the guard of %s is called %s', (table, name) => {
  const proposal = proposeGuard({ table, columns: documents }, ['running'])!
  expect(proposal.name).toBe(name)
  expect(defineGuard({ ...proposal, after: minutes(10) }).name).toBe(name)
})
