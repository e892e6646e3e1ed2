/** A measurement of steps.mjs in a separate process: prints the figures as a line of JSON; ends with the parent. */
process.stdin.resume().on('end', () => process.exit(1))
const { script, url, jobs } = JSON.parse(process.argv[2])
const { measure } = await import(`./steps/${script}.mjs`)
console.log(JSON.stringify(await measure(url, jobs)))
process.exit(0)
