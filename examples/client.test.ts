/** A client generated from the document by a tool of others drives the API over a real socket, typed all the way. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createApp } from '../src/http/index.ts'
import { listen } from '../src/http/server.ts'
import { batchDoor } from '../test/http/batch-support.ts'
import { generatedClient, run, start, strictly } from './support.ts'

async function serving() {
  const { engine } = await batchDoor()
  const server = await listen(createApp(engine), '127.0.0.1', 0)
  onTestFinished(() => server.close())
  return `http://127.0.0.1:${server.port}`
}

test('it compiles, and what it asks is answered', async () => {
  const address = await serving()
  const folder = await generatedClient(address)
  expect(await run(folder, [...strictly, 'main.ts'])).toEqual({ code: 0, output: '' })
  const child = start(folder, ['main.js'], { RETOMA_URL: address })
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', chunk => (output += chunk))
  const code = await new Promise(resolve => child.on('close', resolve))
  expect({ code, output }).toEqual({
    code: 0,
    output: `submitted: 2 items
paused: paused
the first of them: {"n":1}; more: true
404: not_found, there is no batch "nothing"
`,
  })
})

test('a path or a field that is not there does not compile', async () => {
  const folder = await generatedClient(await serving())
  const wrong = `
    import createClient from 'openapi-fetch'
    import type { paths } from './api.ts'
    const retoma = createClient<paths>()
    await retoma.GET('/api/v1/batchs')
    await retoma.POST('/api/v1/batches', { body: { name: 'letters', itens: [] } })
    const { data } = await retoma.GET('/api/v1/batches/{id}', { params: { path: { id: '1' } } })
    const state: 'done' | undefined = data?.state
    export { state }`
  await writeFile(join(folder, 'wrong.ts'), wrong)
  const { code, output } = await run(folder, [...strictly, 'wrong.ts'])
  expect(code).not.toBe(0)
  for (const told of ['wrong.ts(5,', "'itens' does not exist", `'"done" | undefined'`]) expect(output).toContain(told)
})
