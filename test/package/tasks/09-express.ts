/** Retoma inside an Express app: a job over HTTP, followed as an event stream to its end. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import express from 'express'
import { createEngine, defineJob } from 'retoma'
import { createApp, toNodeHandler } from 'retoma/http'

test('a job of an HTTP request is followed to its end', async () => {
  const greet = defineJob({ kind: 'greet', run: (_, { name }: { name: string }) => `Hello, ${name}` })
  await using engine = await createEngine({ jobs: [greet] })
  await using worker = await engine.work()
  const app = express()
  const who = (request: Request) =>
    request.headers.get('authorization') === 'Bearer of-my-app' ? { user: 'ana', role: 'operator' as const } : null
  app.use('/retoma', toNodeHandler(createApp(engine, { basePath: '/retoma', who })))
  const server = app.listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/retoma/api/v1`
  const headers = { authorization: 'Bearer of-my-app', 'content-type': 'application/json' }

  const body = JSON.stringify({ kind: 'greet', input: { name: 'Ana' } })
  assert.equal(
    (await fetch(`${at}/jobs`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })).status,
    401,
  )
  const made = await fetch(`${at}/jobs`, { method: 'POST', body, headers })
  assert.equal(made.status, 201)
  const { id } = (await made.json()) as { id: string }

  const stream = await fetch(`${at}/jobs/${id}/events`, { headers })
  assert.match(stream.headers.get('content-type') ?? '', /text\/event-stream/)
  let seen = ''
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    seen += chunk
    if (/"to":"succeeded"|"state":"succeeded"/.test(seen)) break
  }
  const job = (await (await fetch(`${at}/jobs/${id}`, { headers })).json()) as { state: string; result: string }
  assert.deepEqual([job.state, job.result], ['succeeded', 'Hello, Ana'])

  await worker.stop()
  server.close()
  server.closeAllConnections()
})
