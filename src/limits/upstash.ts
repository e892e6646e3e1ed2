/**
 * Keeps rate windows in Upstash Redis over its REST API: a Lua script over a sorted set, a single request for each check. The
 * sliding window of the Upstash client is an estimate; this window is exact, and uses the clock of Redis.
 *
 * Invariant: as in limits/sql/count-hits.ts, the check and the count are a single atomic step; a late or malformed answer is an
 * error. Errors never contain the address or the token.
 */
import { refuseOption, refuseUnknownOptions } from '../errors/invalid-option.ts'
import type { Clock } from '../lib/clock.ts'
import { type LimitOptions, mostInstants, type RateWindows, type WindowVerdict } from './model/rate-window.ts'

/** The address and the token of an Upstash Redis. */
export interface UpstashAccess {
  url: string
  token: string
}

const waitLimit = 1000

export function checkUpstash(given: UpstashAccess): void {
  if (given === null || typeof given !== 'object')
    refuseOption('rateLimits', "it is 'postgresql', 'off' or { url, token }", "é 'postgresql', 'off' ou { url, token }")
  refuseUnknownOptions(given, ['url', 'token'], 'rateLimits.')
  const { url, token } = given
  const at = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (at === undefined || !/^https?:$/.test(at.protocol) || at.username !== '' || at.password !== '')
    refuseOption(
      'rateLimits.url',
      'it begins with https:// or http://, names a host and holds no password',
      'começa com https:// ou http://, tem um host e não tem senha',
    )
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    refuseOption('rateLimits.token', 'it is a text that a header can carry', 'é um texto que um cabeçalho carrega')
}

// Members are `instant:count`, instants in microseconds: as in retoma.rate_window, at most 257, with the same rules for counting
// and placing a hit (limits/sql/rate-window-rows.ts).
const script = `
local limit, per, more, given = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local now = given
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local late = now + per / ${mostInstants} + 15000000
local used, ats, ns = 0, {}, {}
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local at, n = string.match(member, '^(%d+):(%d+)$')
  at, n = tonumber(at), tonumber(n)
  if at <= now - per or at >= late then
    if more > 0 then redis.call('ZREM', KEYS[1], member) end
  else
    used = used + n
    ats[#ats + 1] = at
    ns[#ns + 1] = n
  end
end
local granted = used + math.max(more, 1) <= limit
if granted and more > 0 then
  local at = now
  if limit > ${mostInstants} then at = math.max(math.ceil(math.ceil(now * ${mostInstants} / per) * per / ${mostInstants}), now) end
  local n, last = more, #ats
  if last > 0 and ats[last] >= at then
    at = ats[last]
    n = n + ns[last]
    redis.call('ZREM', KEYS[1], string.format('%.0f:%d', at, ns[last]))
  else
    last = last + 1
  end
  ats[last] = at
  redis.call('ZADD', KEYS[1], string.format('%.0f', at), string.format('%.0f:%d', at, n))
  redis.call('PEXPIRE', KEYS[1], math.ceil(per / 1000 * 1.01) + 20000)
  used = used + more
end
local frees = -1
if #ats > 0 then frees = math.ceil((ats[1] + per - now) / 1000) end
return { granted and 1 or 0, used, frees }`

/** `answerMs`: a later answer is an error. */
export function createUpstash({ url, token }: UpstashAccess, clock: Clock, answerMs = waitLimit): RateWindows {
  async function ask({ bucket, who, limit, per }: LimitOptions, more: 0 | 1): Promise<WindowVerdict> {
    const instant = clock.instant()
    const micros = instant === null ? '' : instant.getTime() * 1000
    const command = ['EVAL', script, 1, `retoma:limit/${bucket}/${who}`, limit, Math.round(per * 1000), more, micros]
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(command.map(String)),
      redirect: 'error',
      signal: AbortSignal.timeout(answerMs),
    })
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`it answered ${response.status}`)
    }
    return judgedOf(await response.json().catch(notJson))
  }
  return { take: asked => ask(asked, 1), peek: asked => ask(asked, 0) }
}

/** The error does not repeat the response body. */
function notJson(error: unknown): never {
  throw error instanceof SyntaxError ? new Error('its answer is not JSON') : error
}

/** An HTTP 200 may contain an error, or be a page of a proxy. */
function judgedOf(answer: unknown): WindowVerdict {
  const result = (answer as { result?: unknown } | null)?.result
  if (!Array.isArray(result) || result.length !== 3 || !result.every(Number.isInteger))
    throw new Error('its answer is no judgement')
  const [granted, used, frees] = result as [number, number, number]
  const freesMs = frees < 0 ? null : frees
  return { granted: granted === 1, used, freesMs, fitsMs: granted === 1 ? null : freesMs }
}
