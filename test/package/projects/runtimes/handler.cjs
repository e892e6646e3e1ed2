module.exports = (ctx, { name }) => ctx.step('greet', () => `Hello, ${name}`)
