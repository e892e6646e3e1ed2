import { expect, test } from 'vitest'
import { incidentEvents, noticeOf, noticeOfEnd, noticeOfMany } from './notice.ts'
import type { IncidentFacts } from './notice-sentences.ts'

const facts: IncidentFacts = {
  batch: '17', name: 'notas', total: 10, succeeded: 3, failed: 1, job: '4', kind: 'extract', queue: 'mail', message: 'boom', kinds: ['a', 'b'],
  jobs: 12, no_worker: true, stuck: 11, seconds: 90,
} // biome-ignore format: facts of every event

const since = '2030-01-01T12:00:00.000Z'
const incident = (event: (typeof incidentEvents)[number]) => ({ event, subject: 'x', since, facts })

test('every event is shown in whole sentences, of its beginning and of its end, in both languages', () => {
  const said = new Set<string>()
  for (const event of incidentEvents) {
    for (const language of ['pt', 'en'] as const) {
      const writing = { language, link: null }
      const begun = noticeOf(incident(event), writing)
      const over = noticeOfEnd(incident(event), since, writing)
      for (const { sentence } of [begun, over]) {
        expect(sentence).toMatch(/^[A-ZO0-9].*[.a-z]$/)
        expect(sentence).not.toMatch(/undefined|null|NaN|\[object/)
      }
      said.add(begun.sentence).add(over.sentence)
      expect(over).toMatchObject({ event: `${event}.cleared`, severity: 'info', facts: { cleared_at: since } })
    }
  }
  // Equal: the ends of a failed, a succeeded and a batch with failures (the batch runs again), and the begins of the last two.
  expect(said.size).toBe(incidentEvents.length * 4 - 6)
})

test('a batch paused by a provider is shown in the words of the provider', () => {
  const reason = { code: 'provider', provider: 'openrouter', message: '402 Insufficient credits' }
  const { sentence } = noticeOf(
    { event: 'batch.paused', subject: 'batch:17', since, facts: { ...facts, reason } },
    { language: 'pt', link: null },
  )
  expect(sentence).toBe(
    'O lote 17 (notas) está pausado em 4/10: openrouter: 402 Insufficient credits. Ele segue quando o provedor voltar a responder, ou quando você mandar continuar.',
  )
})

test('a batch that people know by another name is shown by it, with a link to where they look at it', () => {
  const about = { label: { en: 'execution 7', pt: 'execução 7' }, path: '/execucoes/7/status-detalhado' }
  const { sentence, link } = noticeOf(
    { event: 'batch.stalled', subject: 'batch:17', since, facts: { ...facts, about } },
    { language: 'pt', link: 'https://a.example/retoma/' },
  )
  expect(sentence).toMatch(/^O lote 17 \(execução 7\) está travado em 4\/10: /)
  expect(link).toBe('https://a.example/retoma/execucoes/7/status-detalhado')
})

test('a link leads to what explains it, below any path', () => {
  const linkOf = (facts: IncidentFacts) =>
    noticeOf({ event: 'jobs.stuck', subject: 'x', since, facts }, { language: 'pt', link: 'https://a.example/retoma/' })
      .link
  expect(linkOf({ batch: '17' })).toBe('https://a.example/retoma/api/v1/batches/17/explain')
  expect(linkOf({ job: '4', queue: 'q' })).toBe('https://a.example/retoma/api/v1/jobs/4/explain')
  expect(linkOf({ queue: 'mail' })).toBe('https://a.example/retoma/api/v1/queues')
  expect(linkOf({ stuck: 11 })).toBe('https://a.example/retoma/api/v1/jobs?state=stalled')
  expect(linkOf({ seconds: 90 })).toBe('https://a.example/retoma/api/v1/stats')
})

test('many of the same say how many', () => {
  const many = { event: 'batch.failed' as const, subject: 'more', since, facts: { more: 15 } }
  expect(noticeOfMany(many, { language: 'en', link: null })).toMatchObject({
    event: 'batch.failed',
    sentence: '15 more of the same (batch.failed); for ten minutes these get no notice of their own.',
  })
})
