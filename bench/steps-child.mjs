/** One measurement of steps.mjs in a process of its own: prints its figures as one line of JSON; ends with its parent. */
process.stdin.resume().on('end', () => process.exit(1))
const { script, url, jobs } = JSON.parse(process.argv[2])
const { measure } = await import(`./steps/${script}.mjs`)
console.log(JSON.stringify(await measure(url, jobs)))
process.exit(0)
