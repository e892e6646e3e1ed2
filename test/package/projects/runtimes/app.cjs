/** The same in CommonJS. */
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { createEngine, defineJob } = require('retoma')
const { createApp } = require('retoma/http')

const greet = defineJob({
  kind: 'greet',
  handler: pathToFileURL(join(__dirname, 'handler.cjs')),
  isolation: 'process',
})

async function main() {
  const engine = await createEngine({ jobs: [greet] })
  await engine.work()
  const handle = await engine.enqueue(greet, { name: 'Ana' })
  const { status } = await createApp(engine)(new Request('http://localhost/health'))
  console.log(await handle.result(), status)
  await engine.close()
}

main()
