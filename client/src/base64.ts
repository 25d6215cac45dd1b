/** The bytes that base64 or base64url stands for; none if the text is neither. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (each) => each.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}
