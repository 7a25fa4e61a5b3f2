import { FocusTrap, Modal } from '@mantine/core';
import type { ReactNode } from 'react';

interface DialogProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly size?: 'lg' | 'xl';
  readonly children: ReactNode;
}

export function Dialog({ title, isOpen, onClose, size = 'lg', children }: DialogProps) {
  return (
    // Locking the scroll bar would need an inline style, which the content security policy forbids.
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={<span className="long">{title}</span>}
      size={size}
      closeButtonProps={{ 'aria-label': 'Close' }}
      lockScroll={false}
      centered
    >
      {children}
      {/* Without a field of its own that takes the focus, the dialog has it, and not the button that closes it. */}
      <FocusTrap.InitialFocus />
    </Modal>
  );
}
