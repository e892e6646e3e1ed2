import { type JobContext, skip } from 'retoma'
import { Form, greeting } from './words.js'

export default async (ctx: JobContext, { name }: { name: string }) => {
  if (name === '') return skip('no name')
  return ctx.step('greet', () => ({ greeting: greeting(name, Form.Long), file: import.meta.url.split('/').at(-1) }))
}
