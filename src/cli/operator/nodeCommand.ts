import { type Command, Option } from 'commander'
import { z } from 'zod'
import { loadToken } from '../../jsonRpc/bearerToken.ts'
import { RpcTransportError } from '../../jsonRpc/client.ts'
import { redact } from '../../jsonRpc/credentials.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../../jsonRpc/types.ts'
import { UsageError } from '../../lib/errors.ts'
import { createNodeClient, type NodeClient, type NodeMethod, type NodeMethods } from '../../rpc/client/index.ts'
import { readVariable } from '../shared/environment.ts'
import { isHttpUrl } from '../shared/httpUrl.ts'

export const DEFAULT_RPC = 'http://127.0.0.1:9545'
/** The last lines of the help of a group of such commands. */
export const RPC_HELP = `The commands query the rollup node at --rpc <url>, else DEVIUM_RPC, else ${DEFAULT_RPC}.`

/** The queried program, for the error when nothing answers. */
export interface QueriedProgram {
  /** `no node`. */
  who: string
  /** The environment variable with the RPC address. Absent if another address would not help. */
  variable?: string
}

const ROLLUP_NODE: QueriedProgram = { who: 'no node', variable: 'DEVIUM_RPC' }

/** Options of every command that queries a running node. */
export interface NodeOptions {
  rpc: string
  tokenFile?: string
  json?: true
}

/** Creates a sub-command that queries a running rollup node. Its address comes from `--rpc` or `DEVIUM_RPC`. */
export function nodeCommand(parent: Command, signature: string, description: string): Command {
  const address = readVariable('DEVIUM_RPC') ?? DEFAULT_RPC
  return rpcCommand(parent, signature, description, {
    description: "The rollup node's RPC address [DEVIUM_RPC]",
    address,
  })
}

/** Creates a sub-command that queries the program at `rpc.address`, unless `--rpc` names another address. */
export function rpcCommand(
  parent: Command,
  signature: string,
  description: string,
  rpc: { description: string; address: string },
): Command {
  return parent
    .command(signature)
    .description(description)
    .addOption(new Option('--rpc <url>', rpc.description).default(rpc.address, `"${redact(rpc.address)}"`))
    .option('--token-file <file>', 'File with the bearer token of the RPC [DEVIUM_RPC_TOKEN_FILE]')
}

/** Throws UsageError when the address is invalid, or no such node answers there. */
export async function withNode(
  { rpc: url, tokenFile = readVariable('DEVIUM_RPC_TOKEN_FILE') }: Pick<NodeOptions, 'rpc' | 'tokenFile'>,
  use: (node: NodeClient) => Promise<unknown>,
  program = ROLLUP_NODE,
): Promise<void> {
  if (!isHttpUrl(url)) throw new UsageError(`--rpc: expected an http address such as ${DEFAULT_RPC}`)
  const token = tokenFile === undefined || tokenFile === '' ? undefined : loadToken(tokenFile, { create: false })
  const node = createNodeClient({ url, token })
  try {
    await use(node)
  } catch (error) {
    if (error instanceof RpcTransportError) throw noAnswer(url, error, program)
    if (isNotServed(error) && error.message.includes('deviump2p_')) {
      throw new UsageError(`${error.message}: the node at ${redact(url)} runs with --p2p.disable, or is not devium`)
    }
    if (isNotServed(error) && error.message.includes('admin_')) {
      throw new UsageError(`${error.message}: the program at ${redact(url)} runs without --rpc.enable-admin`)
    }
    if (!(error instanceof z.ZodError)) throw error
    const [{ path, message } = { path: [], message: '' }] = error.issues
    const where = path.length === 0 ? '' : ` at ${path.join('.')}`
    throw new UsageError(`${redact(url)} does not answer like a devium node${where}: ${message}`)
  } finally {
    await node.close()
  }
}

/** If nothing listens, the address is most likely wrong. */
function noAnswer(url: string, error: RpcTransportError, { who, variable }: QueriedProgram): Error {
  const { cause } = error
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code !== 'ECONNREFUSED') return error
  const hint = variable === undefined ? '' : `. Set its RPC address with --rpc or ${variable}`
  return new UsageError(`${who} answers at ${redact(url)} (connection refused)${hint}`)
}

/** Undefined when the server does not have the method (p2p disabled, or an older node). */
export async function ifServed<M extends NodeMethod>(
  node: NodeClient,
  method: M,
  params: NodeMethods[M]['params'],
): Promise<NodeMethods[M]['result'] | undefined> {
  try {
    return await node.request(method, params)
  } catch (error) {
    if (isNotServed(error)) return undefined
    throw error
  }
}

function isNotServed(error: unknown): error is JsonRpcError {
  return error instanceof JsonRpcError && error.rpcCode === RPC_METHOD_NOT_FOUND
}
