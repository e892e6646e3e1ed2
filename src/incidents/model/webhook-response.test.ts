import { expect, test } from 'vitest'
import { hours, seconds } from '../../lib/values/duration.ts'
import { judgeWebhookResponse } from './webhook-response.ts'

const now = new Date('2030-01-01T12:00:00Z')
const judged = (status: number, retryAfter?: string) => judgeWebhookResponse(status, retryAfter, now)

test('any 2xx is accepted; what asks for time gets it; trouble of theirs is tried again; the rest refuses', () => {
  for (const status of [200, 201, 202, 204]) expect(judged(status)).toEqual({ verdict: 'accepted' })
  for (const status of [500, 502, 503, 504, 408, 425, 429]) expect(judged(status)).toEqual({ verdict: 'again' })
  for (const status of [0, 100, 301, 302, 307, 400, 401, 403, 404, 410])
    expect(judged(status)).toEqual({ verdict: 'refused' })
})

test.each([
  ['120', seconds(120)],
  [' 7 ', seconds(7)],
  ['0', seconds(1)],
  ['Tue, 01 Jan 2030 12:01:30 GMT', seconds(90)],
  ['Tue, 01 Jan 2030 11:00:00 GMT', seconds(1)],
  ['999999', hours(1)],
])('Retry-After: %s is a wait', (given, delay) => {
  expect(judged(429, given)).toEqual({ verdict: 'wait', delay })
  expect(judged(503, given)).toEqual({ verdict: 'wait', delay })
  expect(judged(500, given)).toEqual({ verdict: 'again' })
})

test('one that says nothing sensible is no wait', () => {
  for (const given of ['', 'soon', '-5', '1.5.3']) expect(judged(429, given)).toEqual({ verdict: 'again' })
})
