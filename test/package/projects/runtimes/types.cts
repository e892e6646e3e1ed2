/** TypeScript that the compiler turns into CommonJS. */
import { createEngine, defineJob } from 'retoma'
import { createApp } from 'retoma/http'

const greet = defineJob({ kind: 'greet', run: (_, { name }: { name: string }) => `Hello, ${name}` })

export async function greeting(): Promise<string> {
  const engine = await createEngine({ jobs: [greet] })
  createApp(engine)
  const result: string = await (await engine.enqueue(greet, { name: 'Ana' })).result()
  await engine.close()
  return result
}
