import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { DeviumError, describeError, UsageError } from '../../lib/errors.ts'

/**
 * `devium-geth execute FILE...`: executes blocks from files that also hold the state they touch. Prints `<number> <hash>
 * ok|MISMATCH` for each block. Returns true when every block matches. Throws UsageError for an unreadable file.
 */
export async function executeFiles(paths: readonly string[], print: (line: string) => void): Promise<boolean> {
  if (paths.length === 0) throw new UsageError('expected the path of at least one file')
  const { executeStateless, parseStatelessBlock } = await import('../../execution/chain/statelessBlock.ts')
  let isRight = true
  for (const path of paths) {
    const stateless = parseFile(path, parseStatelessBlock)
    const number = stateless.parent.number + 1
    try {
      const { block } = await executeStateless(stateless)
      const { hash } = block.header
      const isSame = hash === stateless.expectedHash
      if (!isSame) isRight = false
      print(isSame ? `${number} ${hash} ok` : `${number} ${hash} MISMATCH expected ${stateless.expectedHash}`)
    } catch (error) {
      if (!(error instanceof DeviumError)) throw error
      isRight = false
      print(`${number} ${stateless.expectedHash} MISMATCH ${describeError(error)}`)
    }
  }
  return isRight
}

function parseFile<T>(path: string, parse: (json: unknown) => T): T {
  try {
    const bytes = readFileSync(path)
    // The magic bytes of gzip.
    const text = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes
    return parse(JSON.parse(text.toString()))
  } catch (cause) {
    throw new UsageError(`${path}: ${describeError(cause)}`, { cause })
  }
}
