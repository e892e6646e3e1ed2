/** The browser of the tests: the program that CHROMIUM_PATH names, otherwise the program of a package, which is unpacked into a folder. */

/** `args`: the arguments that the program of the package needs. */
export async function browserProgram(folder: string): Promise<{ executablePath: string; args: string[] }> {
  const path = process.env.CHROMIUM_PATH
  if (path !== undefined) return { executablePath: path, args: ['--no-sandbox'] }
  // The package reads the temporary folder when the module is loaded, and again when the program is unpacked.
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    const { default: packaged } = await import('@sparticuz/chromium')
    packaged.setGraphicsMode = false
    const executablePath = await packaged.executablePath()
    return { executablePath, args: packaged.args.filter(each => !/single-process|no-zygote/.test(each)) }
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}
