/** CommonJS on a Node that cannot require an ES module. */
async function main() {
  const { createEngine, defineJob } = await import('retoma')
  const greet = defineJob({ kind: 'greet', run: (_, { name }) => `Hello, ${name}` })
  const engine = await createEngine({ jobs: [greet] })
  await engine.work()
  console.log(await (await engine.enqueue(greet, { name: 'Ana' })).result())
  await engine.close()
}

main()
