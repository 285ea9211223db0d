import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { JsonValue } from '../../src/jsonRpc/types.ts'

/** A method in the form of rpc_discover. */
export interface DescribedMethod {
  name: string
  params: { name: string }[]
  result: { schema: object }
}

const DOCUMENT = join(import.meta.dirname, '../../docs/rpc.md')

/** Names of the methods with a row in docs/rpc.md. */
export function documentedMethods(): string[] {
  return [...readFileSync(DOCUMENT, 'utf8').matchAll(/^\| `(\w+_\w+)` \|/gm)].map(([, name = '']) => name)
}

/** A call by curl, as in docs/rpc.md. Rejects with the node's error. */
export async function callByCurl(url: string, method: string, params: readonly JsonValue[]): Promise<JsonValue> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const args = [
    '--silent',
    '--show-error',
    '--fail',
    '-H',
    'Content-Type: application/json',
    '--data-binary',
    body,
    url,
  ]
  const { stdout } = await promisify(execFile)('curl', args, { maxBuffer: 64 * 1024 * 1024 })
  const { result, error } = JSON.parse(stdout)
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

/** The error in a result according to the node's own schema; undefined if there is none. */
export function problemOf({ name, result }: DescribedMethod, value: unknown): string | undefined {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  return ajv.validate(result.schema, value) ? undefined : `${name}: ${ajv.errorsText()}`
}
