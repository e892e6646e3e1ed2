import { expect, test } from 'vitest'
import { createLog } from './log.ts'
import { LogRateLimit } from './log-rate-limit.ts'

test('one message is logged at most 20 times in ten seconds, with a count of what was left out', () => {
  let now = 0
  const later: { run: () => void; at: number }[] = []
  const flood = new LogRateLimit(
    () => now,
    (run, ms) => later.push({ run, at: now + ms }),
  )
  const reported: number[] = []
  const admitted = (message: string, times: number) =>
    Array.from({ length: times }, () => flood.admits(message, leftOut => reported.push(leftOut))).filter(Boolean).length
  expect(admitted('a request failed', 10_000)).toBe(20)
  expect(admitted('another', 5)).toBe(5)
  now = 4000
  expect(admitted('a request failed', 10)).toBe(0)
  expect(later.map(({ at }) => at)).toEqual([10_000])
  later[0]!.run()
  expect(reported).toEqual([9990])
  now = 10_000
  expect(admitted('a request failed', 30)).toBe(20)
})

test('a log of 100,000 equal errors is some kilobytes, and what is no warning is not bounded', () => {
  let bytes = 0
  let lines = 0
  const log = createLog({
    level: 'info',
    format: 'json',
    write: text => {
      bytes += text.length
      lines++
    },
  })
  const err = new Error('the database is away')
  for (let n = 0; n < 100_000; n++) log.error({ err, path: `/api/v1/jobs/${n}` }, 'a request failed')
  expect(lines).toBe(20)
  expect(bytes).toBeLessThan(100_000)
  for (let n = 0; n < 50; n++) log.info({ n }, 'created a token')
  expect(lines).toBe(70)
})

test('a pretty line escapes what would colour, break or turn it', () => {
  let text = ''
  const log = createLog({ level: 'info', format: 'pretty', colour: false, write: more => (text += more) })
  const hostile = 'a\u001b[31mred\u009b\n12:00:00 error forged\u202egnp.exe\u2028'
  log.error(
    { name: hostile, [hostile]: 1, err: Object.assign(new Error('x'), { stack: `x\u001b]0;title\u0007` }) },
    hostile,
  )
  expect(text.trimEnd().split('\n')).toHaveLength(2)
  expect(text).not.toMatch(/[^\P{Cc}\n]|[\u202e\u2028]/u)
  expect(text).toContain('\\x1b[31mred')
})
