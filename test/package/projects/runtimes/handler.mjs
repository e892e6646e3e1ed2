import { skip } from 'retoma'

export default (ctx, { name }) => (name === '' ? skip('no name') : ctx.step('greet', () => `Hello, ${name}`))
