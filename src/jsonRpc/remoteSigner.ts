import { readFile } from 'node:fs/promises'
import { timeoutSignal } from '../lib/clock.ts'
import { DeviumError, describeError, UsageError } from '../lib/errors.ts'
import type { Hex } from '../lib/hex.ts'
import type { Logger } from '../lib/logger.ts'
import { createRpcClient, type RpcClient, RpcTransportError } from './client.ts'
import { redact } from './credentials.ts'

export interface RemoteSignerOptions {
  /** http or https. */
  endpoint: string
  /** Address of the signing key. Every signature is checked against it. */
  address: Hex
  headers: Record<string, string>
  /** PEM files: the service's authority, and this client's certificate and key. */
  tls?: { caPath: string; certPath: string; keyPath: string }
}

export interface RemoteSigner {
  /** The endpoint without secrets, for messages. */
  readonly name: string
  /** The connection's time limit covers the whole call, including a retry. */
  request(method: string, params: readonly unknown[]): Promise<unknown>
  close(): Promise<void>
}

export interface RemoteSignerModules {
  logger: Logger
  timeoutMs: number
  maxResponseBytes: number
  /** Time limit of the first request, which also sets up the connection. */
  healthTimeoutMs?: number
}

/** op-service waits this long for `health_status`. */
const HEALTH_TIMEOUT_MS = 3_000

/**
 * Connects to a service with op-signer's JSON-RPC and requests its `health_status`. After a failed connection the
 * certificate files are read again, because they may have been renewed. Throws UsageError if they cannot be read or the
 * service does not answer.
 */
export async function connectRemoteSigner(
  { logger, timeoutMs, maxResponseBytes, healthTimeoutMs = HEALTH_TIMEOUT_MS }: RemoteSignerModules,
  options: RemoteSignerOptions,
): Promise<RemoteSigner> {
  const name = redact(options.endpoint)
  let rpc = await createClient(options, maxResponseBytes)

  const request = async (method: string, params: readonly unknown[], limitMs: number): Promise<unknown> => {
    const signal = timeoutSignal(limitMs)
    const call = { signal, timeoutMs: limitMs }
    try {
      try {
        return await rpc.request(method, params, call)
      } catch (error) {
        if (!(error instanceof RpcTransportError) || signal.aborted) throw error
        logger.debug('Connection to the remote signer failed, retrying once', { err: describeError(error) })
      }
      const failed = rpc
      rpc = await createClient(options, maxResponseBytes)
      await failed.close()
      return await rpc.request(method, params, call)
    } catch (error) {
      if (!signal.aborted) throw error
      throw new DeviumError('rpc-timeout', `no answer within ${limitMs} ms`, { severity: 'temporary' })
    }
  }

  try {
    const version = await request('health_status', [], healthTimeoutMs)
    logger.info('Remote signer connected', { endpoint: name, address: options.address, version: String(version) })
  } catch (cause) {
    await rpc.close()
    throw new UsageError(`remote signer ${name} cannot be used (--signer.endpoint)`, { cause })
  }
  return {
    name,
    request: (method, params) => request(method, params, timeoutMs),
    close: () => rpc.close(),
  }
}

async function createClient(
  { endpoint, headers, tls }: RemoteSignerOptions,
  maxResponseBytes: number,
): Promise<RpcClient> {
  const pems = tls && {
    ca: await readPem('ca', tls.caPath),
    cert: await readPem('cert', tls.certPath),
    key: await readPem('key', tls.keyPath),
  }
  return createRpcClient({ url: endpoint, headers, maxResponseBytes, ...(pems === undefined ? {} : { tls: pems }) })
}

async function readPem(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    throw new UsageError(
      `cannot read ${path} (--signer.tls.${flag}; a signer without TLS needs --signer.tls.enabled=false)`,
      { cause },
    )
  }
}
