import type { Logger } from '../../lib/logger.ts'
import type { P2pOptions } from '../base/options.ts'
import { type BlockSigner, createLocalSigner } from './blockSigner.ts'
import { createRemoteSigner } from './remoteSigner.ts'

/** The signer that the options select; undefined: none. Throws UsageError. */
export async function createSigner(
  modules: { logger: Logger },
  chainId: bigint,
  options: Pick<P2pOptions, 'sequencerKey' | 'remoteSigner'>,
): Promise<BlockSigner | undefined> {
  if (options.remoteSigner !== undefined) return createRemoteSigner(modules, chainId, options.remoteSigner)
  return options.sequencerKey === undefined ? undefined : createLocalSigner(chainId, options.sequencerKey)
}
