/** An e-mail goes out through a mail server that fails twice; an address that does not exist is not tried again. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createEngine, defineJob, doNotRetry, isRetomaError, seconds } from 'retoma'

test('an e-mail is tried until it is accepted, at most five times', async () => {
  const calls: string[] = []
  const server = createServer((request, response) => {
    const to = new URL(request.url ?? '/', 'http://mail').searchParams.get('to') ?? ''
    calls.push(to)
    const busy = calls.filter(each => each === to).length < 3
    response.writeHead(to.startsWith('nobody') ? 550 : busy ? 503 : 200).end('message-17')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const email = defineJob({
    kind: 'email.send',
    queue: 'email',
    maxAttempts: 5,
    backoff: { first: seconds(0.05), factor: 2 },
    timeout: seconds(30),
    run: async (ctx, { to }: { to: string }) => {
      const response = await fetch(`http://127.0.0.1:${port}/?to=${to}`, { signal: ctx.signal })
      if (response.status === 550) throw doNotRetry(`no such address: ${to}`)
      if (!response.ok) throw new Error(`the mail server answered ${response.status}`)
      return { messageId: await response.text(), attempt: ctx.attempt }
    },
  })
  await using engine = await createEngine({ jobs: [email] })
  await using _worker = await engine.work({ queues: { email: 5 } })

  const sent = await engine.enqueue(email, { to: 'ana@example.com' }, { key: 'welcome:ana' })
  const again = await engine.enqueue(email, { to: 'ana@example.com' }, { key: 'welcome:ana' })
  assert.deepEqual([again.id, again.created], [sent.id, false])
  const { messageId, attempt } = await sent.result()
  assert.deepEqual([messageId, attempt], ['message-17', 3])

  const refused = await engine.enqueue(email, { to: 'nobody@example.com' })
  await assert.rejects(
    refused.result(),
    error => isRetomaError(error, 'job_failed') && /no such address/.test(error.message),
  )
  assert.equal((await engine.job(refused.id))?.attempt, 1)
  assert.equal(calls.length, 4)
  server.close()
})
