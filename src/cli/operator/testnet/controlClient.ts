import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { createRpcClient, RpcTransportError } from '../../../jsonRpc/client.ts'
import { JsonRpcError } from '../../../jsonRpc/types.ts'
import { isErrno, UsageError } from '../../../lib/errors.ts'
import { describeFileError } from '../../../lib/fileErrors.ts'
import { COMMAND_METHOD, CONTROL_FILE, type CommandResult } from './commandTable.ts'

const controlSchema = z.object({ url: z.url(), token: z.string() })
const resultSchema = z.object({ command: z.string(), did: z.string(), lookAt: z.string() })
/** A command may stop and start programs. */
const TIMEOUT_MS = 300_000

/** Sends a command to the testnet in this directory. Throws UsageError when no testnet runs there, or it refuses the command. */
export async function requestCommand(dir: string, words: readonly string[]): Promise<CommandResult> {
  const { url, token } = readControl(dir)
  const runner = createRpcClient({ url, headers: { authorization: `Bearer ${token}` } })
  try {
    return resultSchema.parse(await runner.request(COMMAND_METHOD, words, { timeoutMs: TIMEOUT_MS }))
  } catch (error) {
    if (error instanceof JsonRpcError) throw new UsageError(error.message, { cause: error })
    if (error instanceof RpcTransportError && error.code === 'rpc-transport')
      throw noTestnet(dir, 'its runner does not answer')
    throw error
  } finally {
    await runner.close()
  }
}

function readControl(dir: string): z.infer<typeof controlSchema> {
  const file = join(dir, CONTROL_FILE)
  try {
    return controlSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) throw noTestnet(dir, `it has no ${CONTROL_FILE}`)
    throw new UsageError(`cannot read ${file}: ${describeFileError(error)}`, { cause: error })
  }
}

function noTestnet(dir: string, why: string): UsageError {
  return new UsageError(`no testnet runs in ${dir} (${why}). Set --dir to the directory of a running testnet`)
}
