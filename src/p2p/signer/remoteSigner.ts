import { readFile } from 'node:fs/promises'
import { DecodeError, describeError, UsageError } from '../../lib/errors.ts'
import { fromHex } from '../../lib/hex.ts'
import { createRpcClient, type RpcClient, RpcTransportError, redact } from '../../lib/jsonRpc/client.ts'
import type { Logger } from '../../lib/logger.ts'
import { publicKeyToAddress, recoverCompact } from '../../lib/secp256k1.ts'
import { payloadSigningHash } from '../../rollup/protocol/index.ts'
import { P2pError } from '../errors.ts'
import type { RemoteSignerOptions } from '../options.ts'
import type { BlockSigner } from './blockSigner.ts'

/** op-node waits this long for `health_status`; a signature that takes longer would hold up a block as well. */
const TIMEOUT_MS = 3_000
/** An answer holds 65 bytes in hex. */
const MAX_RESPONSE_BYTES = 64 * 1024
const SIGNATURE_BYTES = 65

/**
 * Has blocks signed by a service that speaks op-signer's JSON-RPC (op-service/signer: `health_status`,
 * `opsigner_signBlockPayload`). The certificate files are read again after a failed connection, since they may have been
 * renewed. Throws UsageError when they cannot be read, the service does not answer or the chain id is too large.
 */
export async function createRemoteSigner(
  modules: { logger: Logger; timeoutMs?: number },
  chainId: bigint,
  options: RemoteSignerOptions,
): Promise<BlockSigner> {
  const { logger, timeoutMs = TIMEOUT_MS } = modules
  if (chainId > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new UsageError(`--signer.endpoint: chain id ${chainId} is too large for a remote signer`)
  }
  const name = redact(options.endpoint)
  let rpc = await connect(options)

  const request = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const signal = AbortSignal.timeout(timeoutMs)
    const call = { signal, timeoutMs }
    try {
      return await rpc.request(method, params, call)
    } catch (error) {
      if (!(error instanceof RpcTransportError) || signal.aborted) throw timely(error, signal)
      logger.debug('Connection to the remote signer failed, trying once more', { err: describeError(error) })
    }
    const failed = rpc
    rpc = await connect(options)
    await failed.close()
    return rpc.request(method, params, call).catch((error: unknown) => {
      throw timely(error, signal)
    })
  }
  const timely = (error: unknown, signal: AbortSignal): unknown =>
    signal.aborted ? new Error(`no answer within ${timeoutMs} ms`) : error

  try {
    const version = await request('health_status', [])
    logger.info('Remote signer is there', { endpoint: name, address: options.address, version: String(version) })
  } catch (cause) {
    await rpc.close()
    throw new UsageError(`remote signer ${name} cannot be used (--signer.endpoint)`, { cause })
  }
  return {
    address: options.address,
    async sign(payloadHash) {
      try {
        const answer = await request('opsigner_signBlockPayload', [
          {
            domain: Array.from({ length: 32 }, () => 0),
            chainId: Number(chainId),
            payloadHash: Buffer.from(payloadHash).toString('base64'),
            senderAddress: options.address,
          },
        ])
        return checkedSignature(answer, payloadSigningHash(chainId, payloadHash), options.address)
      } catch (cause) {
        throw new P2pError('signing-failed', `remote signer ${name} did not sign the block`, { cause })
      }
    },
    stop: () => rpc.close(),
  }
}

/** What peers would reject must not leave: they would lower our score for it. Throws DecodeError. */
function checkedSignature(answer: unknown, hash: Uint8Array, address: string): Uint8Array {
  if (typeof answer !== 'string' || !/^0x[0-9a-fA-F]*$/.test(answer)) throw new DecodeError('signature is no hex text')
  if (answer.length !== 2 + 2 * SIGNATURE_BYTES) {
    throw new DecodeError(`signature has ${(answer.length - 2) / 2} bytes, expected ${SIGNATURE_BYTES}`)
  }
  const signature = fromHex(answer)
  const yParity = signature[SIGNATURE_BYTES - 1] ?? 0
  if (yParity > 1) throw new DecodeError(`signature ends in ${yParity}, expected 0 or 1`)
  const signer = publicKeyToAddress(recoverCompact(hash, signature.subarray(0, SIGNATURE_BYTES - 1), yParity))
  if (signer.toLowerCase() !== address.toLowerCase()) throw new DecodeError(`signature is of ${signer}, not ${address}`)
  return signature
}

async function connect({ endpoint, headers, tls }: RemoteSignerOptions): Promise<RpcClient> {
  return createRpcClient({
    url: endpoint,
    headers,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ca: await readPem('ca', tls.caPath),
            cert: await readPem('cert', tls.certPath),
            key: await readPem('key', tls.keyPath),
          },
        }),
  })
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
