import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

// Compiles assembly/kernel (AssemblyScript) to WebAssembly and writes it as text into src/lib/wasm, where the programs
// take it from: what they run needs no compiler. Run after a change: npm run build:wasm

const SOURCE = resolve(import.meta.dirname, 'kernel/index.ts')
export const KERNEL_FILE = resolve(import.meta.dirname, '../src/lib/wasm/kernel.generated.ts')

/** The WebAssembly module. Throws with the compiler's words when the source is no good. */
export async function compileKernel(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'devium-wasm-'))
  try {
    const out = join(folder, 'kernel.wasm')
    const compiler = fileURLToPath(import.meta.resolve('assemblyscript/bin/asc.js'))
    const options = ['-O3', '--converge', '--runtime', 'stub', '--enable', 'simd', '--outFile', out]
    await promisify(execFile)(process.execPath, [compiler, SOURCE, ...options], { cwd: folder })
    return new Uint8Array(await readFile(out))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Text of the generated file. */
export function kernelFile(wasm: Uint8Array): string {
  const lines =
    Buffer.from(wasm)
      .toString('base64')
      .match(/.{1,110}/g) ?? []
  const text = lines.map((line) => `  '${line}',`).join('\n')
  return `// Made from assembly/kernel by \`npm run build:wasm\`.\n\n/** WebAssembly module, in base64. */\nexport const KERNEL: string = [\n${text}\n].join('')\n`
}

if (process.argv[1] === import.meta.filename) {
  const wasm = await compileKernel()
  await writeFile(KERNEL_FILE, kernelFile(wasm))
  process.stdout.write(`${KERNEL_FILE}: ${wasm.length} bytes of WebAssembly\n`)
}
