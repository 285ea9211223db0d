import { connectRemoteSigner, type RemoteSignerModules, type RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { DecodeError, UsageError } from '../../lib/errors.ts'
import { fromHex } from '../../lib/hex.ts'
import { publicKeyToAddress, recoverCompact } from '../../lib/secp256k1.ts'
import { payloadSigningHash } from '../../rollup/protocol/index.ts'
import { P2pError } from '../base/errors.ts'
import type { BlockSigner } from './blockSigner.ts'

/** A slower signature would delay the block. */
const TIMEOUT_MS = 3_000
/** An answer holds 65 bytes in hex. */
const MAX_RESPONSE_BYTES = 64 * 1024
const SIGNATURE_BYTES = 65

/**
 * Signs blocks by a remote service with op-signer's JSON-RPC (op-service/signer: `opsigner_signBlockPayload`). Throws
 * UsageError when the service is unusable or the chain id is too large.
 */
export async function createRemoteSigner(
  modules: Pick<RemoteSignerModules, 'logger' | 'healthTimeoutMs'> & { timeoutMs?: number },
  chainId: bigint,
  options: RemoteSignerOptions,
): Promise<BlockSigner> {
  if (chainId > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new UsageError(`--signer.endpoint: chain id ${chainId} is too large for a remote signer`)
  }
  const signer = await connectRemoteSigner(
    { timeoutMs: TIMEOUT_MS, ...modules, maxResponseBytes: MAX_RESPONSE_BYTES },
    options,
  )
  return {
    address: options.address,
    async sign(payloadHash) {
      try {
        const answer = await signer.request('opsigner_signBlockPayload', [
          {
            domain: Array.from({ length: 32 }, () => 0),
            chainId: Number(chainId),
            payloadHash: Buffer.from(payloadHash).toString('base64'),
            senderAddress: options.address,
          },
        ])
        return checkedSignature(answer, payloadSigningHash(chainId, payloadHash), options.address)
      } catch (cause) {
        throw new P2pError('signing-failed', `remote signer ${signer.name} did not sign the block`, { cause })
      }
    },
    stop: signer.close,
  }
}

/** Verifies the signature before it is published: peers would lower our score for a wrong one. Throws DecodeError. */
function checkedSignature(answer: unknown, hash: Uint8Array, address: string): Uint8Array {
  if (typeof answer !== 'string' || !/^0x[0-9a-fA-F]*$/.test(answer)) throw new DecodeError('signature is not hex text')
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
