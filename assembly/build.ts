import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

// Compiles the folders here (AssemblyScript) to WebAssembly and writes each as text into src/lib/wasm, where the programs
// take it from: what they run needs no compiler. Run after a change: npm run build:wasm

/** A folder here, and the name under which the programs import it. */
export const MODULES = { kernel: 'KERNEL', precompiles: 'PRECOMPILES' } as const

export type ModuleName = keyof typeof MODULES

const moduleFile = (name: ModuleName): string => resolve(import.meta.dirname, `../src/lib/wasm/${name}.generated.ts`)

/** The WebAssembly module. Throws with the compiler's words when the source is no good. */
export async function compileModule(name: ModuleName): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'devium-wasm-'))
  try {
    const out = join(folder, 'out.wasm')
    const source = resolve(import.meta.dirname, name, 'index.ts')
    const compiler = fileURLToPath(import.meta.resolve('assemblyscript/bin/asc.js'))
    const options = ['-O3', '--converge', '--runtime', 'stub', '--enable', 'simd', '--outFile', out]
    await promisify(execFile)(process.execPath, [compiler, source, ...options], { cwd: folder })
    return new Uint8Array(await readFile(out))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Text of the generated file. */
function moduleText(name: ModuleName, wasm: Uint8Array): string {
  const lines =
    Buffer.from(wasm)
      .toString('base64')
      .match(/.{1,110}/g) ?? []
  const text = lines.map((line) => `  '${line}',`).join('\n')
  return `// Made from assembly/${name} by \`npm run build:wasm\`.\n\n/** WebAssembly module, in base64. */\nexport const ${MODULES[name]}: string = [\n${text}\n].join('')\n`
}

if (process.argv[1] === import.meta.filename) {
  for (const name of Object.keys(MODULES) as ModuleName[]) {
    const wasm = await compileModule(name)
    await writeFile(moduleFile(name), moduleText(name, wasm))
    process.stdout.write(`${moduleFile(name)}: ${wasm.length} bytes of WebAssembly\n`)
  }
}
